"""Python's jinja2 with the settings that the transformers library renders chat templates with.

They are documented at https://huggingface.co/docs/transformers/chat_templating_writing: blocks trimmed, `break` and
`continue`, a `generation` block, `raise_exception`, `strftime_now`, `tojson` without HTML's escapes, namespaces whose
attributes do not begin with an underscore, and a sandbox in which nothing is changed.
"""
import json

import jinja2
import jinja2.ext
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """`{% generation %}...{% endgeneration %}`, which marks what the model wrote and renders it as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render", []), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class Attributes(jinja2.utils.Namespace):
    """`namespace()`, which refuses names that begin with an underscore."""

    def __init__(*args, **kwargs):  # without named parameters, which could be attributes
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            Attributes.check(name)
        jinja2.utils.Namespace.__init__(args[0], attributes)

    def __setitem__(self, name, value):
        Attributes.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"attribute {name!r}")


class Dicts:
    """`dict()`."""

    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)


def make_environment(now):
    """`now` is the datetime that strftime_now tells."""

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals.update(raise_exception=raise_exception, strftime_now=now.strftime, dict=Dicts(),
                               namespace=Attributes)
    return environment
