"""The model of the tests, which all of a run share: `self.llm` of their classes."""
import pytest
from support import MODEL

import octavo


@pytest.fixture(scope="session")
def loaded():
    """An LLM that makes vectors too."""
    with octavo.LLM(MODEL, progress=False, embedding=True) as llm:
        yield llm


@pytest.fixture(autouse=True, scope="class")
def llm_of_a_class(request, loaded):
    """Gives each class of tests the LLM."""
    if request.cls is not None:
        request.cls.llm = loaded
