// Answers of each format with their calls. The forms are those that the makers' chat templates write of earlier calls,
// and facts that llama.cpp's tests (tests/test-chat.cpp of version 0.3.36 of llama-cpp-python) state of answers.
#pragma once

#include <string_view>
#include <vector>

namespace octavo::test {

struct CorpusCall {
  std::string_view name, arguments;  // as a value in JSON
  std::string_view id = {};
};

struct CorpusAnswer {
  std::string_view format, text;
  std::string_view content = {};
  std::vector<CorpusCall> calls = {};
};

inline std::vector<CorpusAnswer> json_answers() {
  return {
      // Hermes
      {"hermes",
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>",
       "",
       {{"weather", R"({"city": "Paris"})"}}},
      {"hermes", "<tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>", "", {{"time", "{}"}}},
      {"described",
       "I look.\n<tool_call>\n{\"name\": \"time\", \"arguments\": {\"a\": 1}}\n</tool_call>",
       "I look.",
       {{"time", R"({"a": 1})"}}},
      {"hermes",
       "I look.\n\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>\n",
       "I look.",
       {{"time", "{}"}}},
      {"hermes",
       "<tool_call>\n{\"name\": \"time\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>\n{\"name\": "
       "\"weather\", \"arguments\": {\"city\": \"}</tool_call>\\\"\"}}\n</tool_call>",
       "",
       {{"time", R"({"a": 1})"}, {"weather", R"({"city": "}</tool_call>\""})"}}},
      {"hermes",
       "<tool_call>{\"arguments\": {\"days\": 3}, \"name\": \"weather\"}</tool_call>",
       "",
       {{"weather", R"({"days": 3})"}}},
      {"hermes", "<tool_call>{\"name\": \"time\"}</tool_call> then text", "then text", {{"time", "{}"}}},
      {"hermes", "<tool_call>{\"name\": \"time\", \"arguments\": null}</tool_call>", "", {{"time", "{}"}}},
      {"hermes",
       R"(<tool_call>{"name": "time", "arguments": "{\"a\": \"\\u00e9\"}"}</tool_call>)",
       "",
       {{"time", R"({"a": "é"})"}}},
      {"hermes",
       "<tool_call>[{\"name\": \"time\", \"arguments\": {}}, {\"name\": \"time\"}]</tool_call>",
       "",
       {{"time", "{}"}, {"time", "{}"}}},
      // A missing mark or brace at the end is forgiven.
      {"hermes", "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}", "", {{"time", "{}"}}},
      {"hermes", "<tool_call>\n{\"name\": \"time\", \"arguments\": {}\n</tool_call>", "", {{"time", "{}"}}},
      {"hermes",
       "<tool_call>{\"name\": \"time\"}<tool_call>{\"name\": \"time\"}</tool_call>",
       "",
       {{"time", "{}"}, {"time", "{}"}}},
      // No calls.
      {"hermes", "Hello, world!\nWhat's up?", "Hello, world!\nWhat's up?"},
      {"hermes", "<tool_call>nothing</tool_call>", "<tool_call>nothing</tool_call>"},
      {"hermes", "a < b <tool <tool_call", "a < b <tool <tool_call"},
      {"hermes", "<tool_call>\n{\"name\": 3}\n</tool_call>", "<tool_call>\n{\"name\": 3}\n</tool_call>"},
      {"hermes", "<tool_call>x<tool_call>{\"name\": \"time\"}</tool_call>", "<tool_call>x", {{"time", "{}"}}},
      {"hermes", " \n two spaces \n", " \n two spaces \n"},
      // Arrays and lines between marks
      {"nemotron",
       "<TOOLCALL>[{\"name\": \"weather\", \"arguments\": {\"days\": 1}}, {\"name\": \"time\", \"arguments\": "
       "{}}]</TOOLCALL>",
       "",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
      {"tool-calls",
       "<tool_calls>[{\"name\": \"weather\", \"arguments\": {\"days\": 1}, \"id\": \"12\"}]</tool_calls>",
       "",
       {{"weather", R"({"days": 1})"}}},
      {"tool-calls",
       "<tool_calls>\n{\"name\": \"time\", \"arguments\": {}}\n{\"name\": \"time\", \"arguments\": {}}\n</tool_calls>",
       "",
       {{"time", "{}"}, {"time", "{}"}}},
      {"command",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {\"tags\": "
       "[\"a\"]}},\n"
       "    {\"tool_call_id\": \"1\", \"tool_name\": \"time\", \"parameters\": {}}\n]<|END_ACTION|>",
       "",
       {{"weather", R"({"tags": ["a"]})"}, {"time", "{}"}}},
      {"action",
       "I look.\nAction:\n```json\n[\n    {\n        \"tool_name\": \"weather\",\n        \"parameters\": {\"days\": "
       "1}\n"
       "    },\n    {\"tool_name\": \"time\", \"parameters\": {}}\n]```\n",
       "I look.",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
      {"action", "Action:\n```json\n{}\n```", "Action:\n```json\n{}\n```"},
      {"functools",
       " functools[{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}, {\"name\": \"time\", \"arguments\": "
       "{}}]",
       "",
       {{"weather", R"({"city": "Rome"})"}, {"time", "{}"}}},
      {"gigachat",
       "Hello!<|function_call|>{\"name\": \"weather\", \"arguments\": {\"days\": 1}}",
       "Hello!",
       {{"weather", R"({"days": 1})"}}},
      {"gigachat-message",
       "Hello!<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"weather\", \"arguments\": {\"days\": 1}}",
       "Hello!",
       {{"weather", R"({"days": 1})"}}},
      {"granite", "<|tool_call|>[{\"name\": \"time\", \"arguments\": {}}]", "", {{"time", "{}"}}},
      // Llama 3
      {"llama",
       "{\"name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}}",
       "",
       {{"weather", R"({"city": "Rome"})"}}},
      {"llama", "<|python_tag|>{\"name\": \"time\", \"parameters\": {}}", "", {{"time", "{}"}}},
      {"llama",
       "{\"type\": \"function\", \"name\": \"time\", \"parameters\": {}}; {\"name\": \"time\", \"parameters\": {}}",
       "",
       {{"time", "{}"}, {"time", "{}"}}},
      {"llama4", "{\"name\": \"time\", \"parameters\": {\"a\": 1}}", "", {{"time", R"({"a": 1})"}}},
      {"llama4", "<|python_start|>{\"name\": \"time\", \"parameters\": {}}<|python_end|>", "", {{"time", "{}"}}},
      {"llama4",
       "<|python_start|><|python_end|>{\"name\": \"time\", \"parameters\": {}}{\"name\": \"weather\", "
       "\"parameters\": {\"city\": \"Paris\"}}",
       "",
       {{"time", "{}"}, {"weather", R"({"city": "Paris"})"}}},
      {"llama", "{\"name\": \"nobody\", \"parameters\": {}}", "{\"name\": \"nobody\", \"parameters\": {}}"},
      {"llama", "{\"a\": [1, {\"b\": 2}]}", "{\"a\": [1, {\"b\": 2}]}"},
      {"llama", "So: {\"name\": \"time\", \"parameters\": {}}", "So: {\"name\": \"time\", \"parameters\": {}}"},
      // Any model
      {"generic", "{\"name\": \"time\", \"arguments\": {}}", "", {{"time", "{}"}}},
      {"generic",
       "[{\"name\": \"time\", \"arguments\": {}}, {\"name\": \"time\", \"arguments\": {\"a\": 1}}]",
       "",
       {{"time", "{}"}, {"time", R"({"a": 1})"}}},
      {"generic", "[link](https://example.org)", "[link](https://example.org)"},
      {"generic", "[1, 2]", "[1, 2]"},
  };
}

inline std::vector<CorpusAnswer> named_answers() {
  return {
      {"mistral",
       "[TOOL_CALLS][{\"name\": \"weather\", \"arguments\": {\"days\": 1}, \"id\": \"123456789\"}]",
       "",
       {{"weather", R"({"days": 1})"}}},
      {"mistral",
       "[TOOL_CALLS][{\"id\": \"123456789\", \"name\": \"time\", \"arguments\": {}}]",
       "",
       {{"time", "{}", "123456789"}}},
      {"mistral", "Hello![TOOL_CALLS]weather[ARGS]{\"days\": 1}", "Hello!", {{"weather", R"({"days": 1})"}}},
      {"mistral",
       "[TOOL_CALLS]weather[ARGS]{\"days\": 1}[TOOL_CALLS]time[ARGS]{}",
       "",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
      {"mistral",
       "[TOOL_CALLS]time[CALL_ID]000000001[ARGS]{}[TOOL_CALLS]time[CALL_ID]000000002[ARGS]{\"a\": \"[ARGS]\"}",
       "",
       {{"time", "{}", "000000001"}, {"time", R"({"a": "[ARGS]"})", "000000002"}}},
      {"mistral", "[TOOL_CALLS]time{}", "", {{"time", "{}"}}},
      {"harmony",
       " to=functions.weather<|channel|>analysis<|message|>{\"days\": 1}",
       "",
       {{"weather", R"({"days": 1})"}}},
      {"harmony",
       "<|channel|>analysis to=functions.weather<|message|>{\"days\": 1}",
       "",
       {{"weather", R"({"days": 1})"}}},
      {"harmony", " to=functions.time<|channel|>analysis <|constrain|>json<|message|>{}", "", {{"time", "{}"}}},
      {"harmony", "<|channel|>commentary to=functions.time<|message|>{}", "", {{"time", "{}"}}},
      {"harmony",
       "<|channel|>commentary to=functions.time <|constrain|>json<|message|>{\"a\": \"if (b < c) {\"}",
       "",
       {{"time", R"({"a": "if (b < c) {"})"}}},
      {"harmony", "It writes to=functions.time, a name", "It writes to=functions.time, a name"},
      {"deepseek-r1",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"days\": "
       "1}\n```<｜tool▁call▁end｜>\n"
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{}```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
      {"deepseek",
       "So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Zürich\"}<｜tool▁call▁end｜>"
       "<｜tool▁call▁begin｜>time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "So.",
       {{"weather", R"({"city": "Zürich"})"}, {"time", "{}"}}},
      {"kimi",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"days\": 1}"
       "<|tool_call_end|><|tool_call_begin|>functions.time:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
       "<|tool_calls_section_end|>",
       "",
       {{"weather", R"({"days": 1})", "functions.weather:0"}, {"time", "{}", "functions.time:1"}}},
      {"solar",
       "<|tool_calls|><|tool_call:begin|>abc<|tool_call:name|>weather<|tool_call:args|>{\"days\": 1}<|tool_call:end|>"
       "<|tool_call:begin|>def<|tool_call:name|>time<|tool_call:args|>{}<|tool_call:end|>",
       "",
       {{"weather", R"({"days": 1})", "abc"}, {"time", "{}", "def"}}},
      {"functionary",
       "<function=weather>{\"days\": 1}</function><function=time>{}</function>",
       "",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
      {"apertus",
       "<|tools_prefix|>[{\"weather\": {\"days\": 1}}, {\"time\": {}}]<|tools_suffix|>",
       "",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
  };
}

inline std::vector<CorpusAnswer> parameter_answers() {
  return {
      {"qwen",
       "<tool_call>\n<function=weather>\n<parameter=days>\n1\n</parameter>\n</function>\n</tool_call>",
       "",
       {{"weather", R"({"days": 1})"}}},
      {"qwen",
       "I look.\n<tool_call>\n<function=weather>\n<parameter=city>\nPa\"ris\nX\n</parameter>\n<parameter=share>\n0.5\n"
       "</parameter>\n<parameter=wind>\ntrue\n</parameter>\n<parameter=more>\n{\"a\": [1, "
       "null]}\n</parameter>\n</function>\n"
       "</tool_call>\n<tool_call>\n<function=time>\n</function>\n</tool_call>",
       "I look.",
       {{"weather", R"({"city": "Pa\"ris\nX", "share": 0.5, "wind": true, "more": {"a": [1, null]}})"},
        {"time", "{}"}}},
      {"qwen", "<function=time>\n</function>\n</tool_call>", "", {{"time", "{}"}}},
      // A line feed at each end belongs to the marks, no more.
      {"qwen",
       "<function=weather><parameter=city>\n  print(\"a\")\n\n</parameter></function>",
       "",
       {{"weather", R"({"city": "  print(\"a\")\n"})"}}},
      {"qwen", "<function=weather><parameter=city>\n\n</parameter></function>", "", {{"weather", R"({"city": ""})"}}},
      {"qwen", "<function=weather><parameter=city></parameter></function>", "", {{"weather", R"({"city": ""})"}}},
      {"qwen",
       "<function=weather><parameter=city>a </param></parameter></function>",
       "",
       {{"weather", R"({"city": "a </param>"})"}}},
      {"qwen", "<tool_call>\nno", "<tool_call>\nno"},
      {"qwen", "<function=weather>\n<b>", "<b>", {{"weather", "{}"}}},
      {"seed",
       "<seed:tool_call>\n<function=weather>\n<parameter=city>Paris</parameter>\n<parameter=wind>True</parameter>\n</"
       "function>\n"
       "</seed:tool_call>",
       "",
       {{"weather", R"({"city": "Paris", "wind": true})"}}},
      {"glm",
       "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>has </think> and <tool_call></arg_value>\n"
       "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>time\n</tool_call>",
       "",
       {{"weather", R"({"city": "has </think> and <tool_call>", "days": 2})"}, {"time", "{}"}}},
      {"glm",
       "<tool_call>time<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>",
       "",
       {{"time", R"({"a": "b"})"}}},
      {"glm",
       "<tool_call>weather<arg_key>note</arg_key><arg_value>null</arg_value></tool_call>",
       "",
       {{"weather", R"({"note": null})"}}},
      {"glm",
       "<tool_call>weather<arg_key>note</arg_key><arg_value>123</arg_value></tool_call>",
       "",
       {{"weather", R"({"note": "123"})"}}},
      {"glm",
       "<tool_call>weather<arg_key>either</arg_key><arg_value>7</arg_value></tool_call>",
       "",
       {{"weather", R"({"either": 7})"}}},
      {"glm",
       "<tool_call>weather<arg_key>either</arg_key><arg_value>7 Rd</arg_value></tool_call>",
       "",
       {{"weather", R"({"either": "7 Rd"})"}}},
      {"glm",
       "<tool_call>weather<arg_key>unit</arg_key><arg_value>C</arg_value></tool_call>",
       "",
       {{"weather", R"({"unit": "C"})"}}},
      {"glm",
       "<tool_call>weather<arg_key>any</arg_key><arg_value>[1]</arg_value></tool_call>",
       "",
       {{"weather", R"({"any": [1]})"}}},
      {"hunyuan",
       "So.<tool_calls:opensource>\n<tool_call:opensource>weather<tool_sep:opensource>\n"
       "<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>a</arg_value>\nb</arg_value:opensource>\n"
       "<arg_key:opensource>days</arg_key:opensource>\n<arg_value:opensource>2</arg_value:opensource>\n"
       "</tool_call:opensource>\n<tool_call:opensource>time<tool_sep:opensource>\n</tool_call:opensource>\n"
       "</tool_calls:opensource>",
       "So.",
       {{"weather", R"({"city": "a</arg_value>\nb", "days": 2})"}, {"time", "{}"}}},
      {"hunyuan", "<tool_call:opensource>time<tool_sep:opensource></tool_call:opensource>", "", {{"time", "{}"}}},
      {"minicpm",
       "<function name=\"weather\"><param name=\"city\">Rome</param><param name=\"days\">3</param></function>\n"
       "<function name=\"time\"></function>",
       "",
       {{"weather", R"({"city": "Rome", "days": 3})"}, {"time", "{}"}}},
      // A text may be quoted whatever it is, and a quote has no end but the one in front of the mark.
      {"minicpm",
       "<function name=\"weather\"><param name=\"city\"><![CDATA[<b>]]> & </param>\n]]></param><param "
       "name=\"note\"><![CDATA[x]]></param></function>",
       "",
       {{"weather", R"({"city": "<b>]]> & </param>\n", "note": "x"})"}}},
      {"minicpm",
       "<function name=\"weather\"><param name=\"city\"><![CD</param><param name=\"note\"></param></function>",
       "",
       {{"weather", R"({"city": "<![CD", "note": ""})"}}},
      // Values are Python's, and so are nested ones.
      {"minicpm",
       "<function name=\"weather\"><param name=\"wind\">True</param><param name=\"more\">{'a': [1, None, {'b': "
       "\"it's\"}], 'c': {}}</param><param name=\"tags\">['x', False]</param><param "
       "name=\"city\">['x']</param></function>",
       "",
       {{"weather", R"({"wind": true, "more": {"a": [1, null, {"b": "it's"}], "c": {}}, "tags": ["x", false],
                        "city": "['x']"})"}}},
      {"minimax",
       "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Paris</parameter>\n<parameter "
       "name=\"days\">1"
       "</parameter>\n</invoke>\n<invoke name=\"time\">\n</invoke>\n</minimax:tool_call>",
       "",
       {{"weather", R"({"city": "Paris", "days": 1})"}, {"time", "{}"}}},
      {"atem",
       " to=weather<|message|><atem:function_calls>\n<atem:invoke name=\"weather\">\n<atem:parameter "
       "name=\"city\">Paris\n2</atem:parameter>\n<atem:parameter name=\"days\">1</atem:parameter>\n</atem:invoke>\n"
       "</atem:function_calls>",
       "",
       {{"weather", R"({"city": "Paris\n2", "days": 1})"}}},
      {"atem",
       "So.<atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls>",
       "So.",
       {{"time", "{}"}}},
      {"atem",
       "to=time<atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls>",
       "",
       {{"time", "{}"}}},
      {"atem",
       "to=time<atem:function_calls>\n<atem:invoke name=\"time\">\n</atem:invoke>\n</atem:function_calls>"
       "assistant to=weather<|message|><atem:function_calls>\n<atem:invoke name=\"weather\">\n<atem:parameter "
       "name=\"days\">1</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
       "",
       {{"time", "{}"}, {"weather", R"({"days": 1})"}}},
      {"atem", "A letter (to=user) is a text", "A letter (to=user) is a text"},
      {"dsml",
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" "
       "string=\"true\">12"
       "</｜DSML｜parameter>\n<｜DSML｜parameter name=\"note\" "
       "string=\"false\">[1]</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
       "<｜DSML｜invoke name=\"time\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
       "",
       {{"weather", R"({"city": "12", "note": [1]})"}, {"time", "{}"}}},
      {"dsml",
       "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"time\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
       "",
       {{"time", "{}"}}},
  };
}

inline std::vector<CorpusAnswer> notated_answers() {
  return {
      {"gemma",
       "<|tool_call>call:weather{city:<|\"|>San \"F\"<|\"|>}<tool_call|>",
       "",
       {{"weather", R"({"city": "San \"F\""})"}}},
      {"gemma", "Hi<|tool_call>call:time{}<tool_call|>", "Hi", {{"time", "{}"}}},
      {"gemma",
       "<|tool_call>call:weather{days:-7,share:1.5e10,wind:true,note:null}<tool_call|><|tool_call>call:time{}<tool_"
       "call|>",
       "",
       {{"weather", R"({"days": -7, "share": 1.5e10, "wind": true, "note": null})"}, {"time", "{}"}}},
      {"gemma",
       "<|tool_call>call:weather{tags:[<|\"|>a<|\"|>,<|\"|>b<|\"|>],more:{a:{},b:[],c:None}}<tool_call|>",
       "",
       {{"weather", R"({"tags": ["a", "b"], "more": {"a": {}, "b": [], "c": null}})"}}},
      {"gemma",
       "<|tool_call>call:weather{city:Paris,days:3}<tool_call|>",
       "",
       {{"weather", R"({"city": "Paris", "days": 3})"}}},
      {"gemma", "<|tool_call>nothing", "<|tool_call>nothing"},
      {"lfm", "<|tool_call_start|>[weather(days=1)]<|tool_call_end|>", "", {{"weather", R"({"days": 1})"}}},
      {"lfm",
       "Let me see.<|tool_call_start|>[weather(city=\"Paris\")]<|tool_call_end|>",
       "Let me see.",
       {{"weather", R"({"city": "Paris"})"}}},
      {"lfm",
       "<|tool_call_start|>[weather(wind=True, note=None, more={\"a\": True, 'b': null}, tags=[1, \"x\", "
       "(2,)])]<|tool_call_end|>",
       "",
       {{"weather", R"({"wind": true, "note": null, "more": {"a": true, "b": null}, "tags": [1, "x", [2]]})"}}},
      {"lfm",
       "<|tool_call_start|>[Calendar.create_event(title='it\\'s', code=\"a\\n\\tb \\\"q\\\" \\x41 "
       "\\q\")]<|tool_call_end|>",
       "",
       {{"Calendar.create_event", R"({"title": "it's", "code": "a\n\tb \"q\" A \\q"})"}}},
      {"lfm",
       "<|tool_call_start|>[weather(days=1), time()]<|tool_call_end|>",
       "",
       {{"weather", R"({"days": 1})"}, {"time", "{}"}}},
      {"lfm", "[link text](https://example.org)", "[link text](https://example.org)"},
  };
}

inline std::vector<CorpusAnswer> call_corpus() {
  std::vector<CorpusAnswer> all;
  for (const auto& answers : {json_answers(), named_answers(), parameter_answers(), notated_answers()})
    all.insert(all.end(), answers.begin(), answers.end());
  return all;
}

}  // namespace octavo::test
