"""A model that calls a Python function: python chat_with_a_tool.py [MODEL]"""
import datetime
import sys

import octavo


def day_of_week(year: int, month: int, day: int) -> str:
    """Gives the day of the week of a date.

    year: such as 1969
    month: 1 to 12
    day: 1 to 31
    """
    print(f"day_of_week({year}, {month}, {day})")
    try:
        return datetime.date(year, month, day).strftime("%A")
    except ValueError as error:
        return f"error: {error}"


def main(model=None):
    with octavo.LLM(model) as llm:
        # A small model needs to be told that it is to call; larger ones do it by themselves.
        output = llm.chat("On which day of the week was 20 July 1969?", tools=[day_of_week], tool_choice="required",
                          max_tool_rounds=2, sampling_params=octavo.SamplingParams(temperature=0, max_tokens=100))
        print(output.text)


if __name__ == "__main__":
    main(*sys.argv[1:])
