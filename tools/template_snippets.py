"""Small templates, each about one thing of the language, that Octavo and jinja2 must render alike or both refuse."""

NAMES = {
    "s": "hello World", "e": "", "u": "Grüße ß ΑΣ. İ ŉ ﬁ 世界🌍", "q": "it's \"q\"\\\n\t\u0007", "n": 7, "z": 0, "f": 2.5,
    "big": 12345678901, "t": True, "none_": None, "l": [3, 1, 2], "m": ["b", "A", "c", "a"], "el": [], "ed": {},
    "d": {"b": 1, "a": "x", "C": [1, {"k": None}], "items": "own"}, "lines": "one\n\n  two\r\nthree\n",
    "people": [{"name": "Bo", "age": 3, "tags": ["x"], "at": {"city": "Ulm"}}, {"name": "al", "age": 1, "tags": []},
               {"name": "Cy", "age": 3, "at": {"city": "Bern"}}],
    "floats": [0.1, 1.0, 1e16, 1e15, 1e-5, 123456.789, 1e300, -0.0, 0.0001, 2.675, 1e22],
    "tree": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}], "html": "<a href='x'>&amp;</a>",
    "digits": "\u00b2\u0663", "csv": "a, b,,c", "spaced": " \u00a0 x  y\u3000 ",
}

PRINTED = """
1 | -1 | +1 | 1.0 | 1e3 | 1_000 | 0x1F | 0o17 | 0b101 | 1.5e-7 | .5 | 1. | 012 | 0_0 | 9223372036854775807
'a' 'b' ~ "c" | 'x\\ty\\x41\\u00e9\\U0001F600\\101\\q' | 'a\\'b' | "a\\\nb" | '\\xZ' | 'ü\\ü'
true | True | false | none | None | nope | nope.x | nope['x'] | nope() | nope + 1 | nope == missing | nope ~ 'x'
1 + 2 * 3 | (1 + 2) * 3 | 2 ** 3 ** 2 | -2 ** 2 | 7 // 2 | -7 // 2 | 7 % -3 | -7 % 3 | 7 / 2 | 4 / 2 | 7.5 // 2 | -7.5 % 2
1 / 0 | 1 // 0 | 1 % 0 | 1.0 / 0 | 0 ** -1 | 2 ** -1 | 2 ** 0.5 | 1 + true | true + true | -true
'a' + 'b' | 'a' + 1 | 'ab' * 3 | 3 * 'ab' | 'ab' * -1 | [1] + [2] | [1] * 2 | [1] + (2,) | (1,) + (2,) | {} + {} | 'a' - 'b'
'a' ~ 1 ~ none ~ 2.0 ~ [1] | 1 < 2 < 3 | 1 < 2 > 3 | 1 == 1.0 | 1 == true | 'a' == 'a' | [1] == (1,) | {} == {} | none == false
'a' < 'b' | [1, 2] < [1, 3] | (1,) < (1, 2) | 1 < 'a' | none < 1 | {} < {} | 'B' < 'a' | 1 <= 1.0 | true > false
1 in [1, 2] | 'a' in 'abc' | 'a' in d | 'zz' not in d | 1 in 'a' | 'a' in 5 | none in [none] | [1] in [[1]] | [1] in d | nope in 'a' | 'a' in nope
not true | not e | 1 and 2 | 0 and 2 | 0 or 2 | e or 'x' | 1 and not 0 | not 1 == 2 | nope or 'd' | not not nope
1 if true else 2 | 1 if false | (1 if false) is defined | 1 if t else 2 if z else 3 | 'x' if nope
s.upper() | s.upper().lower() | s['upper']() | s.nope | s.nope() | s[0] | s[-1] | s[99] | s[1:3] | s[::-1] | s[-5:] | s[:-1:2] | s[10:2:-3] | s['a'] | s[::0]
l[0] | l[-1] | l[9] | l[1:] | l[::-1] | l[5:1] | l['x'] | l[1.5] | l[true] | l.0 | l.9 | (1, 2)[1] | (1, 2)[::-1] | range(5)[1] | range(9)[2:7:2]
d.a | d['a'] | d.zz | d.zz.y | d['zz'] | d['items'] | d.C[1].k | d[0] | d[[1]] | d.get('a') | d.get('q') | d.get('q', 5) | d.get() | d.get('a', default=1)
d.keys() | d.values() | d.items() | d.items()|list | d.keys()|list | d.copy() | d.pop('a') | d.update({}) | d.clear | d.pop is defined | d.__class__ | s.__class__.__mro__ | l.append(1) | l.index(2) | l.index(9) | l.count(1) | (1, 1).count(1) | (1, 2).index(2)
[1, 'a', none, true, 1.5, [], {}, (), (1,), (1, 2)] | {'a': 1, 2: 'b', none: 3, true: 4, (1, 2): 5} | {[1]: 2} | {1: 'a', true: 'b', 1.0: 'c'} | q | [q] | [u] | ["it's"] | ['"'] | [nope] | ['\\u200b\\x7f\\u00a0\\n']
floats | floats|join(' ') | 1e400 | 0.1 + 0.2 | 1e16 + 1 | 100000000000000000.0 | 3.0 * 2 | 5 // 2.0 | 1e100
range(3) | range(3)|list | range(1, 7, 2)|list | range(5, 0, -2)|list | range(0) | range(1, 5) | range() | range('a') | range(1, 2, 0) | range(100001) | range(100000)|length | range(3)|sum | 2 in range(3)
dict(a=1, b=2) | dict([('a', 1)]) | dict({'x': 1}, y=2) | dict([1]) | dict(1) | namespace(a=1).a | namespace({'b': 2}).b | namespace(a=1) | namespace(_a=1) | namespace().x | namespace(a=1)['a']
s is string | s is sequence | l is sequence | d is sequence | d is mapping | s is iterable | 5 is iterable | none is none | n is number | t is number | f is number | n is integer | t is integer | f is float | t is boolean | t is true | z is false | n is true
nope is defined | s is defined | nope is undefined | d.zz is defined | n is odd | n is even | n is divisibleby 7 | n is divisibleby(2) | s is lower | 'ABC' is upper | 'a1' is lower | n is eq 7 | n is equalto(7) | n is gt 3 | n is ge 7 | n is lt 7 | n is le 7 | n is ne 7 | n is sameas n | none is sameas none | n is in [7] | s is in 'x' | s.upper is callable | s is callable | range is callable | nope is callable | 'x' is escaped | ('x'|safe) is escaped | s is filter | 'upper' is filter | 'odd' is test | n is nosuch | n is not odd | n is not none | not n is odd | l is iterable and n is number
s|upper | s|lower | u|upper | u|lower | u|title | u|capitalize | s|title | s|capitalize | 'a-b (c d'|title | 'ab_cd efg'|title | n|upper | none|upper | nope|upper | u.title() | u.swapcase() | u.capitalize() | 'ǆabc'.title() | 'ǆabc'|capitalize | 'ΑΣ'.lower() | 'ΑΣ Σ ΣΑ'.lower() | 'ΑΣ'|capitalize | 'ΣΑΣ ΑΣΑ'|title | 'ΣΑΣ'.swapcase()
'  x '|trim | 'xxaxx'|trim('x') | spaced|trim | spaced.strip() | 'xyax'.strip('yx') | 'xyax'.lstrip('x') | 'xyax'.rstrip('x') | 'aüü'.rstrip('ü') | 'a'.strip(none) | 'a'.strip(1) | n|trim
'a.b.c'.split('.') | 'a.b.c'.split('.', 1) | 'a.b.c'.rsplit('.', 1) | 'a.b.c'.rsplit('.') | ' a  b c '.split() | ' a  b c '.split(none, 1) | ' a  b c '.rsplit(none, 1) | 'a'.split('') | ''.split() | ''.split(',') | csv.split(', ') | 'aaa'.split('a') | 'aaa'.rsplit('aa') | 'a,b'.split(sep=',') | 'a b c'.split(' ', maxsplit=1) | 'a b'.split(1) | 'axbxc'.partition('x') | 'axbxc'.rpartition('x') | 'abc'.partition('x') | 'abc'.rpartition('x')
lines.splitlines() | lines.splitlines(true) | 'a\\x0bb\\x1cc\\u2028d'.splitlines() | ''.splitlines() | '\\n'.splitlines() | lines|indent | lines|indent(2, true) | lines|indent('>') | lines|indent(2, blank=true) | ''|indent | n|indent | 'a\\nb'|indent(width=1, first=True)
'aXbXc'|replace('X', '-') | 'aXbXc'|replace('X', '-', 1) | 'abc'|replace('', '-') | 'abc'|replace('', '-', 2) | 123|replace(2, 'x') | 'aXbX'.replace('X', 'yy') | 'abc'.replace('', '-') | 'aaa'.replace('aa', 'b') | 'a'.replace('a') | 'a'.replace('a', 1) | 'üaü'.replace('ü', 'ö', 1) | nope|replace('a', 'b') | 'a'|replace('a')
'abc'.startswith('ab') | 'abc'.startswith(('x', 'a')) | 'abc'.endswith('bc') | 'abc'.endswith(('x',)) | 'abc'.startswith('b', 1) | 'abc'.startswith('b', 1, 1) | 'abc'.startswith('', 4) | 'abc'.endswith('b', 0, -1) | 'abc'.startswith(1) | 'abc'.startswith(['a']) | 'abc'.find('c') | 'abc'.find('z') | 'üabü'.find('ü', 1) | 'abca'.rfind('a') | 'abc'.index('z') | 'abca'.rindex('a') | 'aaa'.count('aa') | 'abc'.count('') | 'abc'.count('b', 2) | 'abc'.find('') | 'abc'.rfind('') | 'abc'.find('', 5)
'12'.isdigit() | digits.isdigit() | digits.isdecimal() | ''.isdigit() | 'ab'.isalpha() | 'a1'.isalnum() | ' '.isspace() | 'Ab C'.istitle() | 'AB'.isupper() | 'ab1'.islower() | '1'.islower() | 'a_1'.isidentifier() | '1a'.isidentifier() | 'é'.isascii() | 'a\\n'.isprintable() | ''.isprintable() | 'ü'.isalpha()
'x'.center(5) ~ '|' | 'xy'.center(5, '*') | 'x'.ljust(3, '-') | 'x'.rjust(3) | '-5'.zfill(4) | 'x'.zfill(3) | 'ab'|center(7) ~ '|' | 'a\\tb'.expandtabs(4) | 'xab'.removeprefix('x') | 'abx'.removesuffix('x') | 'x'.center(5, 'ab')
','.join(['a', 'b']) | ','.join([1]) | ','.join('abc') | ','.join([]) | ','.join(d) | ''.join(nope) | l|join | l|join('-') | m|join(', ') | people|join(',', attribute='name') | l|join(1) | nope|join('x') | 5|join | d|join(',') | [none, true, 1.0]|join(' ')
'{} {}'.format(1, 'a') | '{1}{0}'.format(1, 2) | '{a} {b.x}'.format(a=1, b={'x': 2}) | '{0[k]}{0[k][0]}'.format({'k': 'v'}) | '{:>5}|{:<5}|{:^5}|'.format('a', 'b', 'c') | '{:*^7}'.format('ab') | '{:05d} {:+d} {:x} {:#x} {:b} {:o}'.format(42, 42, 255, 255, 5, 8) | '{:,}'.format(1234567) | '{:_}'.format(1234567) | '{:.2f} {:.0f} {:e} {:g} {:%} {:.1%}'.format(1.005, 2.5, 12345.678, 0.0001, 0.25, 0.256) | '{:10.3f}|{:<10.3f}|{:010.3f}'.format(3.14159, 3.14159, -3.14159) | '{!r} {!s}'.format('a', 'b') | '{{}}'.format() | '{}'.format() | '{:.3}'.format('abcdef') | '{:{w}}|'.format('a', w=4) | '{:d}'.format('a') | '{:s}'.format(1) | '{'.format() | '}'.format() | '{0}{}'.format(1) | '{a}'.format(b=1) | '{:>5}'.format(none) | '{}'.format(none) | '{:.3}'.format(1.0) | '{:.3}'.format(12345.678) | '{:5}|'.format(true) | '{:5}|'.format(3) | '{:08.2f}'.format(-1.5) | '{:=+6d}'.format(5) | '{0.__class__}'.format(1) | '{:f}'.format(3) | '{:n}'.format(3)
'%s %d' % ('a', 3) | '%s' % 'x' | '%s' % (1,) | '%s %s' % 'x' | '%d' % 3.9 | '%5s|%-5s|%05d|%+d|% d' % ('a', 'b', 42, 5, 5) | '%.2f %e %g %G' % (1.005, 12345.678, 0.00001, 1e20) | '%x %X %o %#x %#o' % (255, 255, 8, 255, 8) | '%(a)s' % {'a': 1} | '%(b)s' % {'a': 1} | '%%' % () | '%s' % ((1, 2),) | '%r' % ('a',) | '%c%c' % (65, 'b') | '%s' | '%d' % 'a' | '%z' % 1 | '%' % 1 | '%s%' % 1 | '%*d' % (5, 3) | '%.3s' % 'abcdef' | '%5.1f|' % 3.14159 | '%s' % none | 'x' % 1 | 'x' % {} | 'x' % [] | '%-8.3d|' % 5 | '%i' % true | '%s %s'|format('a', 2) | '%(x)s'|format(x=1) | '%s'|format | '%.0f' % 0.5 | '%.0f' % 1.5
people|map(attribute='name')|list | people|map(attribute='at.city')|list | people|map(attribute='at.city', default='-')|list | people|map(attribute='tags.0', default='-')|list | m|map('upper')|list | m|map('replace', 'a', 'z')|join | l|map('string')|join(',') | l|map|list | l|map('nosuch')|list | l|map('round', 1)|list | m|map('default', 'x')|list | nope|map('upper')|list | [] | map('nosuch')
people|selectattr('age', 'eq', 3)|map(attribute='name')|list | people|selectattr('at')|list|length | people|rejectattr('at')|map(attribute='name')|list | people|selectattr('at.city', 'equalto', 'Ulm')|list|length | people|selectattr('name', 'in', ['al', 'Cy'])|list|length | people|selectattr('at', 'defined')|list|length | people|selectattr('age', 'nosuch')|list | people|selectattr|list | l|select('odd')|list | l|select('gt', 1)|list | l|reject('odd')|list | l|select|list | [0, 1, '', none]|select|list | [0, 1]|reject|list | people|selectattr('age', '>=', 3)|list|length
(l|select('odd')) is sequence | (l|map('string'))|length | (l|select('odd'))|last | (l|select('nosuch')) is iterable | l|select('odd')|first | (l|map('string'))[0] is defined | 'yes' if el|select else 'no' | 'yes' if el|select|list else 'no'
l|sort | l|sort(reverse=true) | m|sort | m|sort(case_sensitive=true) | people|sort(attribute='age')|map(attribute='name')|list | people|sort(attribute='age,name')|map(attribute='name')|list | people|sort(attribute='at.city')|list | d|sort | [1, 'a']|sort | u|sort | d|dictsort | d|dictsort(true) | {'b': 1, 'a': 2}|dictsort(by='value') | d|dictsort(reverse=true)|first | d|dictsort(by='x') | l|dictsort | [3, none]|sort
m|unique|list | ['a', 'A', 'b']|unique|list | ['a', 'A']|unique(case_sensitive=true)|list | [1, 1.0, true]|unique|list | [[1]]|unique|list | people|unique(attribute='age')|map(attribute='name')|list | l|min | l|max | m|min | m|max | []|min | people|max(attribute='age') | [1, 'a']|min | l|sum | people|sum(attribute='age') | []|sum | [1.5, 2]|sum | ['a']|sum | [[1], [2]]|sum(start=[]) | l|sum(start=10)
people|groupby('age')|list | people|groupby('at.city', default='?')|map(attribute='grouper')|list | (people|groupby('age'))[0].list|length | (people|groupby('age'))[0].grouper | ['b', 'A', 'a']|groupby('x')|list|length
l|first | l|last | el|first | el|last | s|first | s|last | d|first | d|last | range(3)|last | 5|first | nope|first | l|reverse|list | s|reverse | d|reverse|list | (1, 2)|reverse|list | 5|reverse | d.items()|reverse|list | l|list | s|list | d|list | 5|list | nope|list | el|length | s|length | u|length | d|length | 5|length | none|length | nope|length | l|count
range(7)|batch(3)|list | range(7)|batch(3, 'x')|list | range(7)|slice(3)|list | range(7)|slice(3, 'x')|list | []|batch(2)|list | range(3)|slice(0)|list | d|items|list | nope|items|list | l|items|list | d|items|first
5|default(1) | nope|default(1) | nope|default | nope|d('x') | e|default('x') | e|default('x', true) | none|default('x') | none|default('x', true) | nope.x|default(1) | d.zz|default('y')
'42'|int | '4x'|int | '4x'|int(9) | '4.7'|int | 4.7|int | -4.7|int | '0x1A'|int(0, 16) | '1A'|int(base=16) | ''|int | none|int | true|int | l|int | nope|int | ' 5 '|int | '1_000'|int | '1e3'|int | 'inf'|int | '3.5'|float | 'x'|float | 'x'|float(1.5) | 3|float | 'nan'|float | 'inf'|float | '-inf'|float | '1_0.5'|float | none|float | nope|float | '1e5'|float | '.5'|float | '5.'|float | '+3'|int | '--3'|int
2.5|round | 3.5|round | 2.675|round(2) | 42.55|round(1, 'floor') | 42.51|round(1, 'ceil') | 5|round | 15|round(-1) | 25|round(-1) | 1234.5|round(-2) | 2.5|round(method='floor') | 2.5|round(0, 'x') | 'a'|round | -2.5|round | -3|abs | -3.5|abs | 'a'|abs | true|abs | 1e20|round(2) | 7|round(1, 'ceil')
d|tojson | q|tojson | u|tojson | u|tojson(ensure_ascii=true) | d|tojson(indent=2) | d|tojson(indent='--') | d|tojson(separators=(',', ':')) | d|tojson(sort_keys=true) | {'b': 1, 'a': 2}|tojson(sort_keys=true, indent=1) | [1, 1.0, true, none, 1e-7, 1e22]|tojson | (1, 2)|tojson | {1: 2, none: 3, true: 4, 1.5: 5}|tojson | {(1, 2): 3}|tojson | nope|tojson | range(3)|tojson | []|tojson(indent=2) | {}|tojson(indent=2) | [[], {}]|tojson(indent=2) | '\\x00\\x1f\\x7f<>&\\''|tojson | '🌍'|tojson(true) | 'inf'|float|tojson | 'nan'|float|tojson | d|tojson(indent=0) | namespace()|tojson | (l|map('string'))|tojson | l|tojson(2) | d.items()|tojson | 'a'|tojson|tojson
html|escape | html|e|e | html|safe|e | html|forceescape | html|e ~ html | (html|e) + '<' | '<' + (html|safe) | ('<b>'|safe) + 'x' | (html|e)|upper | html|e|length | [html|e] | (html|safe)|replace('a', 'b') | ('%s'|safe) % '<' | n|e | (html|safe)|string
'one two three four'|truncate(9) | 'one two three four'|truncate(9, true) | 'one two three'|truncate(11) | 'one two three'|truncate(9, end='!') | 'one two three four'|truncate(9, false, '...', 0) | 'abc'|truncate(2) | 'one two, three-four'|wordcount | ''|wordcount | u|wordcount | 'a b'|wordcount
cycler('a', 'b').next() | cycler('a', 'b').current | cycler() | joiner()() | joiner('|')() | s|attr('upper') is callable | d|attr('a') is defined | d|attr('zz') is defined | namespace(a=1)|attr('a')
s|nosuch | s|upper('x') | s|upper(x=1) | s|trim(chars='h') | s|replace(old='l', new='L') | s|default(default_value=1, boolean=true) | s|join(d='-') | l(1) | 5() | s() | s.upper(1) | (s.upper)() | none.x | none.x.y | none[0] | 5.x | 5 .x | (5).x is defined | (1.5).is_integer() | (2.0).is_integer()
raise_exception('no') | raise_exception() | strftime_now('%Y-%m-%d %H:%M:%S') | strftime_now('%d %b %Y, %A %B %j %p %I %y %% %e %-d') | strftime_now('') | strftime_now('ü %Y') | strftime_now('%f') | strftime_now(1) | strftime_now('%z%Z.')
range(3)|map('string')|join(',')|upper | s|upper|lower|title | (s|upper).lower() | s|upper ~ 'x' | -1|abs | (-1)|abs | 1 + -1|abs | not s|length | s is string|string | [1, 2, 3,] | {'a': 1,} | (1,) | () | (1, 2,) | [] | {} | {'a'} | [1 2] | (1 | 1 if
s, n | s, | n if t, n | {'a': {'b': {'c': 1}}}.a.b.c | {'a': [1, {'b': 2}]}['a'][1]['b'] | [[1, 2], [3]][0][1] | 'abc'[1:][0] | l[z] | l[n - 7] | l[1:n] | people[0].tags[0] | people[-1]['at']['city']
"""

STATEMENTS = [
    # for
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}"
    "{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem.x }}{% endfor %}", "{% for x in l %}{{ loop.nope }}{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{% endfor %}", "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for x in el %}a{% else %}b{% endfor %}", "{% for x in l %}a{% else %}b{% endfor %}",
    "{% for x in l %}{% break %}{% else %}b{% endfor %}", "{% for x in l %}{% continue %}{% else %}b{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{{ x }}{% if loop.index == 2 %}{% break %}{% endif %}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for x in l if loop.index > 1 %}{{ x }}{% endfor %}",
    "{% for y in l %}{% for x in l if x > loop.index %}{{ x }}{% endfor %};{% endfor %}",
    "{% set ns = namespace(on=true) %}{% for x in l if ns.on %}{{ x }}{% if x == 1 %}{% set ns.on = false %}{% endif %}{% endfor %}",
    "{% set ns = namespace(on=true) %}{% for x in l if ns.on %}{{ x }}{{ loop.last }}{% set ns.on = false %}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d %}{{ k }}{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [(1,)] %}{% endfor %}",
    "{% for a in 5 %}{% endfor %}", "{% for a in none %}{% endfor %}", "{% for a in nope %}x{% else %}y{% endfor %}",
    "{% for c in 'aé🌍' %}{{ c }},{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for x in 1, 2 %}{{ x }}{% endfor %}",
    "{% for x in range(3) %}{{ x }}{% endfor %}", "{% for x in l|reverse %}{{ loop.length }}{{ x }}{% endfor %}",
    "{% for x in l|reverse %}{{ loop.last }}{{ loop.length }}{{ x }}{% endfor %}",
    "{% for x in l|map('string') %}{{ loop.index }}{{ loop.revindex }}{{ x }}{% endfor %}",
    "{% for x in tree recursive %}{{ loop.depth }}:{{ x.n }}({{ loop(x.c) }}){% endfor %}",
    "{% for x in tree %}{{ loop(x.c) }}{% endfor %}", "{% for x in l %}{% set y = x %}{% endfor %}{{ y }}",
    "{% set y = 0 %}{% for x in l %}{{ y }}{% set y = y + x %}{{ y }} {% endfor %}{{ y }}",
    "{% for x in l %}{% for x in 'ab' %}{{ x }}{% endfor %}{{ x }}{% endfor %}{{ x }}",
    "{% for x in l %}{% set outer = loop %}{% for y in 'ab' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in (1, 2) %}{% filter upper %}a{% break %}{% endfilter %}{% endfor %}",
    "{% for x in l %}{% macro f() %}{{ x }}{% endmacro %}{{ f() }}{% endfor %}", "{% break %}", "{% for loop in l %}{% endfor %}",
    "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}", "{% set g = l|select('odd') %}{{ g|first }}{{ g|first }}{{ g|first }}",
    "{% for x in l %}{% for y in loop %}{{ y[0] }}{% endfor %}{% endfor %}", "{% for a in l %}{{ loop.index }}{% else %}{{ loop }}{% endfor %}",
    "{% for x in l recursive %}{{ x }}{% break %}{% endfor %}", "{% for d in [d] %}{{ d.a }}{% endfor %}{{ d.a }}",
    # set, scopes
    "{% set x = 1 %}{{ x }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = [1] %}", "{% set a = 1, 2 %}{{ a }}",
    "{% set x %}a{{ s }}b{% endset %}{{ x }}", "{% set x | upper | trim %} a{% endset %}{{ x }}", "{% set x.y = 1 %}", "{% set d.y = 1 %}",
    "{% set ns = namespace() %}{% set ns.a = 1 %}{% set ns._b = 1 %}", "{% set ns = namespace(l=[]) %}{% for x in l %}{% set ns.l = ns.l + [x] %}{% endfor %}{{ ns.l }}",
    "{% set ns = namespace(a=1, b=2) %}{% set ns.a, ns.b = ns.b, ns.a %}{{ ns.a }}{{ ns.b }}", "{% set ns.x = 1 %}",
    "{% if true %}{% set x = 5 %}{% endif %}{{ x }}", "{% if false %}{% set s = 5 %}{% endif %}{{ s }}", "{% if false %}{% set x = 5 %}{% endif %}{{ x is defined }}",
    "{% set s = s ~ '!' %}{{ s }}", "{% for i in [1] %}{{ s }}{% endfor %}{% set s = 'new' %}{{ s }}",
    "{% macro f() %}{{ s }}{% endmacro %}{{ f() }}{% set s = 'new' %}{{ f() }}", "{% macro f() %}{{ later }}{% endmacro %}{{ f() }}{% set later = 2 %}{{ f() }}",
    "{% for i in [1] %}{% if false %}{% set n = 1 %}{% endif %}{{ n }}{% endfor %}", "{% for i in [1] %}{% set n = n + 1 %}{{ n }}{% endfor %}{{ n }}",
    "{% for i in [1, 2] %}{{ w is defined }}{% set w = 1 %}{% endfor %}", "{% if t %}{% set w = 1 %}{% elif z %}{% set v = 2 %}{% else %}{% set w = 3 %}{% endif %}{{ w }}{{ v }}",
    "{% with %}{% set x = 1 %}{{ x }}{% endwith %}{{ x }}", "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% set a = 5 %}{% with a = 1, b = a %}{{ b }}{% endwith %}",
    "{% set true = 1 %}", "{% set 'a' = 1 %}", "{% set x = %}", "{% set range = 1 %}{{ range }}", "{{ range is defined }}{% set range = 1 %}", "{% set (a, b) = (1, 2) %}{{ a }}",
    "{% set [a, b] = (1, 2) %}{{ a }}", "{% set x = [1] %}{% set x = x + x %}{{ x }}", "{% set x = s if t %}{{ x }}", "{% set x = d.items() %}{{ x|length }}",
    # if
    "{% if s %}a{% elif t %}b{% else %}c{% endif %}", "{% if not s %}a{% elif z %}b{% elif n %}c{% endif %}", "{% if el %}a{% endif %}{% if nope %}b{% endif %}{% if 0.0 %}c{% endif %}",
    "{% if n > 5 and s.startswith('h') or none %}y{% endif %}", "{% if %}{% endif %}", "{% if t %}", "{% endif %}", "{% else %}", "{% if t %}{% endfor %}", "{% if t: %}x{% endif %}",
    "{% if false %}{{ s|nosuch }}{% endif %}ok", "{% if t %}{{ s|nosuch }}{% endif %}", "{% if false %}{% for x in l %}{{ s|nosuch }}{% endfor %}{% endif %}", "{{ 1 if t else s|nosuch }}",
    "{{ 1 if s is nosuch else 2 }}", "{% if false %}{{ 1 is nosuch }}{% endif %}ok", "{% if n == 7 -%}  x  {%- endif %}", "{% nosuch %}", "{% %}", "{{ }}", "{% if t %}{% set q = 1 %}{% endif %}{% for i in l %}{{ q }}{% endfor %}",
    # macros
    "{% macro f(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(c=5, a=0) }}{{ f() }}", "{% macro f(a) %}{{ a.b }}{% endmacro %}{{ f() }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}", "{% macro f(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}",
    "{% macro f(a, b=a) %}{{ b }}{% endmacro %}{{ f(3) }}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}", "{% macro f(a=1, b) %}{% endmacro %}",
    "{% macro f(a, a) %}{% endmacro %}", "{% macro f() %}[{{ caller() }}]{% endmacro %}{% call f() %}in{{ s }}{% endcall %}", "{% macro f() %}{{ caller(1, b=2) }}{% endmacro %}{% call(a, b) f() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}", "{% macro f() %}x{% endmacro %}{% call f() %}{% endcall %}", "{% call 5 %}{% endcall %}", "{% macro f(x) %}{% set y = x %}{{ y }}{% endmacro %}{{ f(1) }}{{ y }}",
    "{% macro f() %}{% break %}{% endmacro %}", "{% for i in l %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}", "{{ f(1) }}{% macro f(a) %}{{ a }}{% endmacro %}",
    "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}G{% endmacro %}{{ f() }}", "{% if t %}{% macro f() %}A{% endmacro %}{% endif %}{{ f() }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(*[1]) }}{{ f(**{'a': 2}) }}{{ f(*5) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, **{'a': 2}) }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(a=1, a=2) }}", "{% macro f(a) %}x{% endmacro %}{{ f }}{{ f.name }}{{ f.arguments }}", "{% macro f(m) %}{% for x in m %}{{ f(x.c) if x.c }}{{ x.n }}{% endfor %}{% endmacro %}{{ f(tree) }}",
    "{% macro f(caller) %}{{ caller() }}{% endmacro %}", "{% macro f(a) %}{% if a is defined %}d{% else %}u{% endif %}{% endmacro %}{{ f() }}{{ f(1) }}{{ f(none) }}", "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
    # blocks
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter upper|replace('A', 'b') %}a{% endfilter %}", "{% filter nosuch %}{% endfilter %}", "{% generation %}a{{ s }}{% set zz = 1 %}{% endgeneration %}{{ zz }}",
    "{% generation %}{% for x in l %}{{ x }}{% endfor %}{% endgeneration %}", "{% generation %}{{ caller is defined }}{% endgeneration %}", "{% print s, n %}", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}",
    # white space
    "a\n  {% if t %}\n  b\n  {% endif %}\nc\n", "a\n  {%- if t %}\n  b\n  {%- endif -%}\nc\n\n", "a {{ s }}\n b\n", "a {{- s -}}  b", "  {# x #}\n  y {# z #} w\n", "  {#- x -#}\n  y", "a\n{%+ if t %}\n  b{%+ endif %}\n", "a\n   {%+ if t +%}\nb{% endif +%}\nc",
    "{% raw %}{{ x }}{% if %}{% endraw %}", "a\n  {% raw %}\n  {{ x }}\n  {% endraw %}\nb", "a {%- raw -%} {{ x }} {%- endraw -%} b", "{% raw %}x", "{# x", "{{ s", "{% if t", "{{ 'x", "\r\na\r\n{% if t %}\r\nb\rc{% endif %}\r\n", "\n\n", "", "x\n\n", "{{ '\n' }}|",
    "   {% set x = 1 %}   \n  {{ x }}", "x   {% set x = 1 %}\n  {{ x }}", "\t{% if t %}\ta{% endif %}\t\n", "{% if t %}  \n  a{% endif %}", "{{ s }}\n\n{% if t %}\n\nx{% endif %}", "{%- set x = 1 -%}\n\n x", "a{#- c -#} b", "a{# c +#}\nb", "{{- s }}", "{{ s -}}\n\n x", "{{-1}}", "{{+1}}", "{{ -1 }}",
    "{{ {'a': {'b': 1}} }}", "{{ {'a': {}}}}", "{{ [[1]] }}", "{{ '}}' }}", "{{ \"%}\" }}", "{% set x = {'a': '%}'} %}{{ x }}", "{{ (1 }}", "{{ 1) }}", "{{ [1) }}", "{{ 1 ! 2 }}", "{{ 1 & 2 }}", "{{ a @ b }}", "{{ s.}}", "{{ s. upper() }}", "{{ s .upper() }}", "{{ {{ s }} }}", "{ { s } }", "{{ s }", "{%if t%}x{%endif%}", "{{s}}{#c#}{{n}}", "{{ 'a' if t else 'b' ~ 'c' }}",
    "{{ s | upper }}", "{{ s|upper()|lower }}", "{{ x }}{{ x is defined }}", "a{% set x = 1 %}\n\nb", "\u00a0{% if t %}\u2003x{% endif %}", "{% set _ = l.append(3) %}", "{{ l.append }}", "{% set _ = d.update({'x': 1}) %}", "{% if d.__class__ %}x{% endif %}", "{{ s.__len__() }}", "{{ ''.__class__ is defined }}",
    "{% set j = joiner(',') %}{{ j() }}a{{ j() }}b{{ j() }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}", "{{ caller }}", "{{ loop }}", "{{ varargs }}",
    "{% for x in [1, [2, [3]]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}", "{{ 'a\nb' }}", "{% set ns = namespace(x=0) %}{% macro f() %}{% set ns.x = ns.x + 1 %}{% endmacro %}{{ f() }}{{ f() }}{{ ns.x }}", "{% for i in range(3) %}{{ i }}{{ ',' if not loop.last }}{% endfor %}",
    "{{ people|map(attribute='name')|map('upper')|join(' & ') }}", "{{ people|rejectattr('at', 'undefined')|map(attribute='at')|map(attribute='city')|sort|join }}", "{% set x = people|selectattr('age', 'equalto', 3)|list %}{{ x[0].name }}{{ x|length }}", "{{ dict(people[0], name='Z').name }}", "{{ dict(d, **{'x': 1})|length }}",
]

SNIPPETS = ["{{ %s }}" % expression.strip()
            for line in PRINTED.strip().split("\n") for expression in line.split(" | ")] + STATEMENTS
