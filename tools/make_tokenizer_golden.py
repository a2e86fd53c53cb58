#!/usr/bin/env python3
"""Writes the tokenizer corpus and the token ids that llama.cpp gives for it.

    tools/make_tokenizer_golden.py --llama PATH/TO/libllama.so --vocabs FOLDER --out tests/data/tokenizer

The corpus is made from a fixed seed, so it is the same everywhere; the ids come from llama.cpp's shared library (built
with BUILD_SHARED_LIBS=ON; version 0.3.36 of the Python package llama-cpp-python holds the source that was used).

corpus.txt, one text a line:
    FLAGS<TAB>TEXT         FLAGS: "-" control tokens are text, "p" they are parsed, then "*N" if TEXT is repeated N times
    In TEXT a backslash is "\\\\" and any byte that is not part of a printable character is "\\xNN".
NAME.ids, one line per line of the corpus: ids separated by spaces, a run of n times the same id as "id*n"; a line of
    more than 256 such items is "#COUNT HASH" instead, the FNV-1a hash (64 bits, hexadecimal) of the ids as little-endian
    32-bit integers.
"""

import argparse
import ctypes
import pathlib
import random
import struct

VOCABS = {
    "smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma3": "gemma-3-270m-q4_k_m.gguf",
    "qwen2": "ggml-vocab-qwen2.gguf",
    "llama_bpe": "ggml-vocab-llama-bpe.gguf",
    "gpt_2": "ggml-vocab-gpt-2.gguf",
    "llama_spm": "ggml-vocab-llama-spm.gguf",
}

SENTENCES = r"""The quick brown fox jumps over the lazy dog.
Why is the sky blue? Because sunlight is scattered by air, and blue light most of all!
It's what you'd expect: we're here, they've left, I'll stay, he isn't, she'd go, I'm sure.
IT'S WHAT YOU'D EXPECT: WE'RE HERE, THEY'VE LEFT, I'LL STAY, I'M SURE.
Dr. Smith paid $1,234.56 (approx. €1.100,99 or £987) on 2024-02-29 at 23:59:59.999Z.
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich; Straße, Fußgänger, Übermaß.
Portez ce vieux whisky au juge blond qui fume : « Voilà », dit-il, l'œuvre naïve d'Hélène.
El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío. ¿Qué tal? ¡Añoraba a su querido cachorro!
Luís argüia à Júlia que brações, fé, chá, óxido, pôr, zângão eram palavras do português.
Příliš žluťoučký kůň úpěl ďábelské ódy.
Pchnąć w tę łódź jeża lub ośm skrzyń fig.
Árvíztűrő tükörfúrógép.
Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul, ıslak, IŞIK.
Съешь же ещё этих мягких французских булок, да выпей чаю.
Чуєш їх, доцю, га? Кумедна ж ти, прощайся без ґольфів!
Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.
דג סקרן שט בים מאוכזב ולפתע מצא לו חברה.
نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ومغلف بجلد أزرق.
بر اثر چنین تلقین و شستشوی مغزی جامع، طرح‌ها می‌روند.
ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले विष्णुवतार भगवान श्रीराम।
আমি বাংলায় গান গাই, আমি আমার আমিকে চিরদিন এই বাংলায় খুঁজে পাই।
யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் இனிதாவது எங்கும் காணோம்.
ఆకాశం నీలంగా ఎందుకు ఉంటుంది?
ಕನ್ನಡ ನಾಡಿನ ಜನರು ಒಳ್ಳೆಯವರು.
അജവും ആനയും ഐരാവതവും ഗരുഡനും.
ශ්‍රී ලංකාව ලස්සන රටකි.
นายสังฆภัณฑ์ เฮงพิทักษ์ฝั่ง ผู้เฒ่าซึ่งมีอาชีพเป็นฅนขายฃวด
ພາສາລາວແມ່ນພາສາທີ່ສວຍງາມ.
မြန်မာဘာသာစကားသည် လှပသည်။
ខ្ញុំអាចញុំកញ្ចក់បាន ដោយគ្មានបញ្ហា
いろはにほへと ちりぬるを わかよたれそ つねならむ
東京特許許可局許可局長。ＦＵＬＬＷＩＤＴＨ１２３と半角ｶﾀｶﾅ、「括弧」。
視野無限廣，窗外有藍天。天地玄黄，宇宙洪荒。
키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.
ქართული ენა ლამაზია.
Այբուբեն՝ հայերեն գրերի շարք։
ለምን ሰማዩ ሰማያዊ ነው?
ᐊᓕᒍᖅ ᓂᕆᔭᕌᖓᒃᑯ ᓱᕋᙱᑦᑐᓐᓇᖅᑐᖓ
ᚠᛇᚻ᛫ᛒᛦᚦ᛫ᚠᚱᚩᚠᚢᚱ᛫ᚠᛁᚱᚪ᛫ᚷᛖᚻᚹᛦᛚᚳᚢᛗ
བོད་སྐད་ནི་སྙན་པོ་ཡིན།
Tiếng Việt có nhiều dấu thanh: ngã, hỏi, sắc, huyền, nặng.
ꦲꦏ꧀ꦱꦫꦗꦮ ᮘᮞ ᮞᮥᮔ᮪ᮓ
∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β), ℕ ⊆ ℕ₀ ⊂ ℤ ⊂ ℚ ⊂ ℝ ⊂ ℂ, ∮ E⋅da = Q, ½ + ¼ = ¾, x² + y³ = z⁴
𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝕄𝕒𝕥𝕙 𝒮𝒸𝓇𝒾𝓅𝓉 𝟎𝟏𝟐𝟑 ①②③ ⅣⅧ ㊗ ㍿
The ﬁrst oﬃce has ligatures; the ſhort ſ, the Kelvin K and the Ångström Å sign.
https://example.org/a/b.html?q=1&r=%20x#frag mailto:someone@example.com ftp://[::1]:21/~u/
{"key": [1, 2.5e-10, null, true], "nested": {"a\\u0041": "\\n\\t\\""}}
<html lang="en"><body class='x'>&amp;&nbsp;<!-- c --><br/></body></html>
<table><tr><td>1</td></tr></table><b>bold</b><s>struck</s></s><code>x</code><iframe>
# Title\n\n* item 1\n* item 2\n\n```python\nprint("x")\n```\n\n| a | b |\n|---|---|\n
SELECT COUNT(*) AS n FROM t WHERE a <> 'b''c' AND d >= 3 -- comment\n
#include <vector>\nint main() {\n\tstd::vector<int> v{1, 2, 3};\n\treturn v.size() - 3u;  // ok\n}\n
def f(x: int = 0, *args, **kwargs) -> None:\n    if x >= 10_000 and not args:\n        return x ** 2 // 3\n\n\n    pass\n
fn main() { let s = r#"raw"#; println!("{s:?} {}", 0xDEAD_BEEFu64 as f32 / 1e-3); }
const f = async (a, ...b) => `${a}${b?.[0] ?? "none"}`; // ==> !== === => ++i
\\documentclass{article} \\begin{equation} \\frac{\\partial u}{\\partial t} = \\nabla^2 u \\end{equation}
SGVsbG8sIFdvcmxkISBUaGlzIGlzIGJhc2U2NC4= 0x7fff5fbff8d0 deadbeef-dead-beef-dead-beefdeadbeef
AAAAAAAAAAAAAAAAA aaaaaaaaaaaaaaaaaaaaa ................ !!!!!!!!! ????? ------ ====== ______ ~~~~~ ##### *****
camelCaseIdentifier snake_case_identifier SCREAMING_SNAKE kebab-case-name PascalCase123 x1y2z3 v1.2.3-rc.4+build5
ＡＢＣ　ｄｅｆ　（全角）！？：；“”‘’—–…‥·•◦‣⁃
""".splitlines()

EMOJI = """😀 😂🤣 👍🏽👍🏿 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ 🇩🇪🇫🇷🇯🇵 🇦 1️⃣#️⃣*️⃣ ❤️‍🔥 👩🏽‍🚀👨🏻‍🦰 🧑‍🤝‍🧑 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☺︎☺️ 🫠🫨🪿 🀄🃏 ⌚⏰ ©️®️™️ ♀️♂️ 🈚🈶 🐻‍❄️ 🙂‍↔️ 🫱🏻‍🫲🏿""".split()

# First and last code point of the ranges that random text is drawn from.
BLOCKS = [
    (0x20, 0x7E), (0xA0, 0xFF), (0x100, 0x24F), (0x250, 0x2FF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F),
    (0x531, 0x58F), (0x591, 0x5F4), (0x600, 0x6FF), (0x700, 0x74F), (0x780, 0x7BF), (0x7C0, 0x7FF), (0x900, 0x97F),
    (0x980, 0x9FE), (0xA01, 0xA76), (0xA81, 0xAFF), (0xB01, 0xB77), (0xB82, 0xBFA), (0xC00, 0xC7F), (0xC80, 0xCF3),
    (0xD00, 0xD7F), (0xD81, 0xDF4), (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF),
    (0x1100, 0x11FF), (0x1200, 0x139F), (0x13A0, 0x13FD), (0x1400, 0x167F), (0x1680, 0x169C), (0x16A0, 0x16F8),
    (0x1700, 0x177F), (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1900, 0x1AAD), (0x1B00, 0x1C7F), (0x1C80, 0x1CFA),
    (0x1D00, 0x1DFF), (0x1E00, 0x1FFE), (0x2000, 0x206F), (0x2070, 0x20C0), (0x20D0, 0x20F0), (0x2100, 0x218B),
    (0x2190, 0x23FF), (0x2400, 0x24FF), (0x2500, 0x27BF), (0x27C0, 0x2BFF), (0x2C00, 0x2DFF), (0x2E00, 0x2E5D),
    (0x2E80, 0x2FFB), (0x3000, 0x303F), (0x3041, 0x30FF), (0x3105, 0x32FF), (0x3300, 0x33FF), (0x3400, 0x4DBF),
    (0x4DC0, 0x4DFF), (0x4E00, 0x9FFF), (0xA000, 0xA4C6), (0xA4D0, 0xA6F7), (0xA700, 0xA7FF), (0xA800, 0xAADF),
    (0xAB01, 0xABF9), (0xAC00, 0xD7A3), (0xD7B0, 0xD7FB), (0xE000, 0xE0FF), (0xF900, 0xFAD9), (0xFB00, 0xFDFF),
    (0xFE00, 0xFE6F), (0xFE70, 0xFEFF), (0xFF01, 0xFFEE), (0xFFF0, 0xFFFF), (0x10000, 0x1018E), (0x10280, 0x103D5),
    (0x10400, 0x1047F), (0x10800, 0x10AFF), (0x10E60, 0x10E7E), (0x11000, 0x1124F), (0x11400, 0x119FF),
    (0x11F00, 0x11F59), (0x12000, 0x1254F), (0x13000, 0x13455), (0x16A40, 0x16B8F), (0x17000, 0x18CD5),
    (0x1B000, 0x1B2FB), (0x1D000, 0x1D1EA), (0x1D2C0, 0x1D37F), (0x1D400, 0x1D7FF), (0x1DF00, 0x1DF2A),
    (0x1E000, 0x1E06D), (0x1E4D0, 0x1E4F9), (0x1E900, 0x1E95F), (0x1EC71, 0x1ECB4), (0x1EE00, 0x1EEF1),
    (0x1F000, 0x1F0FF), (0x1F100, 0x1F2FF), (0x1F300, 0x1F64F), (0x1F680, 0x1F9FF), (0x1FA00, 0x1FBF9),
    (0x20000, 0x20FFF), (0x2A700, 0x2B73F), (0x2B820, 0x2CEA1), (0x2EBF0, 0x2EE5D), (0x2F800, 0x2FA1D),
    (0x30000, 0x3134A), (0x31350, 0x323AF), (0xE0001, 0xE007F), (0xE0100, 0xE01EF), (0xF0000, 0xF00FF),
    (0x10FF00, 0x10FFFF),
]

SPACES = [" ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x85", "\xa0", "\u1680", "\u180e", "\u2003", "\u200b", "\u2028",
          "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff"]

CONTROL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>", "<jupyter_code>",
    "<empty_output>", "<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<unused0>", "<unused62>", "[multimodal]",
    "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<|begin_of_text|>", "<|end_of_text|>",
    "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|reserved_special_token_0|>", "<s>", "</s>", "<0x0A>",
    "<0x41>", "<table>", "[PAD151646]", "[INST]", "<|user|>", "<th>", "</code>", "[@BOS@]",
]

WORDS = """the of and to in a is that it was for on are as with his they I at be this have from or one had by word but
not what all were we when your can said there use an each which she do how their if will up other about out many then
them these so some her would make like him into time has look two more write go see number no way could people my than
first water been call who oil its now find long down day did get come made may part internationalization
antidisestablishmentarianism Schadenfreude naïve café résumé GPU AVX512 x86_64 don't won't it's O'Neill rock'n'roll
'tis '90s 3rd 42nd U.S.A. e.g. i.e. etc. C++23 C# F# .NET node.js @user #tag 100% $5 50€ 3.14 1e-9 0x1F""".split()


def is_beyond_unicode(data: bytes) -> bool:
    """True if llama.cpp would decode a character above U+10FFFF, which ends its process."""
    i = 0
    while i < len(data):
        lead = data[i]
        n = 1 if lead < 0xC0 or lead >= 0xF8 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        rest = data[i + 1 : i + n]
        if n == 1 or len(rest) < n - 1 or any(b & 0xC0 != 0x80 for b in rest):
            i += 1
            continue
        if n == 4 and ((lead & 7) << 6 | (rest[0] & 63)) << 12 > 0x10FFFF:
            return True
        i += n
    return False


class Corpus:
    def __init__(self):
        self.lines = {}  # (flags, text) -> None, in order and without repetition
        self.random = random.Random(20240229)

    def add(self, text, parse=False, repeat=1):
        data = text if isinstance(text, bytes) else text.encode()
        if is_beyond_unicode(data):
            return
        flags = ("p" if parse else "-") + (f"*{repeat}" if repeat > 1 else "")
        self.lines.setdefault((flags, data))

    def pick_char(self, block):
        while True:
            c = self.random.randint(*block)
            if not 0xD800 <= c < 0xE000:
                return chr(c)

    def words(self, n):
        return [self.random.choice(WORDS) for _ in range(n)]


def add_written_text(corpus):
    corpus.add("")
    for line in SENTENCES:
        text = line.replace("\\n", "\n").replace("\\t", "\t")
        for variant in (text, text.upper(), " " + text + " ", text.replace(" ", "  "), text[: len(text) // 2],
                        "\n" + text.replace(" ", "\n"), text.replace(" ", "")):
            corpus.add(variant)
    for i, emoji in enumerate(EMOJI):
        corpus.add(emoji)
        corpus.add(f"a{emoji}b {emoji} 1{emoji}\n")
        corpus.add(emoji * 5 + " " + EMOJI[i - 1])
    for _ in range(250):
        corpus.add(" ".join(corpus.words(corpus.random.randint(1, 16))))
    for _ in range(100):
        glue = ["", " ", "  ", ",", ", ", ".", "\n", "\t", "-", "/", "'", '"', "(", ")", "\r\n", " - ", "...", "?!"]
        corpus.add("".join(w + corpus.random.choice(glue) for w in corpus.words(corpus.random.randint(2, 12))))


def add_characters(corpus):
    for c in list(range(0x80)) + list(range(0xA0, 0x100)):
        corpus.add(chr(c))
    for _ in range(150):
        corpus.add("".join(chr(corpus.random.randrange(0x80)) for _ in range(corpus.random.randint(2, 24))))
    for block in BLOCKS:
        for length in (3, 8, 20):
            corpus.add("".join(corpus.pick_char(block) for _ in range(length)))
        chars = [corpus.pick_char(block) for _ in range(8)]
        corpus.add("x" + " ".join(chars) + "1" + "".join(chars[:3]) + "!\n" + chars[-1])
    for _ in range(150):
        corpus.add("".join(corpus.pick_char(corpus.random.choice(BLOCKS)) for _ in range(corpus.random.randint(2, 16))))
    for _ in range(60):  # combining marks on letters, decomposed and stacked
        base = corpus.random.choice("aeiouncsAEIOUж한かλ")
        marks = "".join(corpus.pick_char((0x300, 0x36F)) for _ in range(corpus.random.randint(1, 6)))
        corpus.add(f"{base}{marks}{corpus.random.choice([' ', 'x', '1', ''])}{base}\u0301")


def add_spaces_digits_contractions(corpus):
    for space in SPACES:
        for text in (space, f"a{space}b", f"a{space}", f"{space}a", f"a{space}{space}b", f" {space} a", f"1{space}2",
                     f"a{space}\nb", f"a\n{space}b", f".{space}{space}.", f"{space}'s{space}"):
            corpus.add(text)
    for n in list(range(2, 35)) + [63, 64, 65, 127, 200]:
        for space in (" ", "\n", "\t"):
            corpus.add(space * n)
            corpus.add("a" + space * n + "b")
    for _ in range(150):
        run = lambda: "".join(corpus.random.choice(SPACES[:12]) for _ in range(corpus.random.randint(1, 6)))
        corpus.add(run().join(corpus.words(corpus.random.randint(1, 5))) + corpus.random.choice(["", run()]))
    for n in range(1, 14):
        digits = "".join(corpus.random.choice("0123456789") for _ in range(n))
        for text in (digits, " " + digits, f"a{digits}b", f"{digits}.{digits}", f"-{digits},{digits}%", f"${digits}"):
            corpus.add(text)
    for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10, 0x1D7CE, 0x1D7D8, 0x11F50):
        for n in (1, 2, 3, 4, 7):
            corpus.add("x" + "".join(chr(zero + corpus.random.randrange(10)) for _ in range(n)) + " 5")
    for text in ("½¾⅓", "x²³¹", "ⅠⅡⅢⅣ", "①②③④", "〇一二三", "1½2", "𐄇𐄈", "12345678901234567890" * 3):
        corpus.add(text)
    for tail in ("s", "t", "re", "ve", "m", "ll", "d", "S", "T", "Re", "VE", "M", "lL", "D", "ſ", "sa", "x", "r", "l"):
        for text in (f"it'{tail}", f" '{tail} ", f"'{tail}", f"it’{tail}", f"''{tail}", f"1'{tail}2", f"é'{tail}é",
                     f"\n'{tail}\n"):
            corpus.add(text)


def add_broken_utf8(corpus):
    for data in (b"\x80", b"\xbf\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80",
                 b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf",
                 b"\xed\xa0\xbd\xed\xb8\x80", b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80", b"\xfe", b"\xff",
                 b"\xff\xfe", b"\xef\xbf\xbd", b"\xef\xbb\xbf", b"\xc3\x28", b"\xa0\xa1", b"\xe2\x28\xa1",
                 b"\xe2\x82\x28", b"\xf0\x28\x8c\xbc", b"\xf0\x90\x28\xbc", b"\xf0\x28\x8c\x28", b"\xf7", b"\xc3\xc3",
                 b"\xe2\xe2\x82\xac", b"\xc0\xa0", b"\xc1\x81", b"\xe0\x81\x81", b"\xc0\xbcs>"):
        for text in (data, b"a" + data + b"b", b" " + data + b" ", data * 3, b"12" + data + b"\n", data + b"'s"):
            corpus.add(text)
    for line in SENTENCES:
        data = line.encode()
        cut = corpus.random.randrange(1, len(data))
        corpus.add(data[:cut])
        corpus.add(data[cut:])
        corpus.add(data[:cut] + data[cut + 1 :])
    for _ in range(200):
        corpus.add(bytes(corpus.random.randrange(256) for _ in range(corpus.random.randint(1, 20))))
    for _ in range(100):
        corpus.add(bytes(corpus.random.choice(b"a \n1\x80\xbf\xc3\xe2\x96\x81\xf0\x9f") for _ in range(12)))


def add_control_tokens(corpus):
    for parse in (False, True):
        for token in CONTROL:
            for text in (token, f"a{token}b", f" {token} ", f"{token}{token}", f"\n{token}\n\n", token[:-1], token[1:],
                         f"x {token}'s", f"<{token}>", token.upper()):
                corpus.add(text, parse)
        for _ in range(60):
            parts = [corpus.random.choice(CONTROL + [" ", "\n", "a", "  ", "<", ">", "|"] + WORDS[:20]) for _ in range(7)]
            corpus.add("".join(parts), parse)
        corpus.add("<|im_start|>system\nYou are kind.<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n"
                   "<|im_start|>assistant\n", parse)
        corpus.add("<start_of_turn>user\nHi!<end_of_turn>\n<start_of_turn>model\n", parse)
        corpus.add("<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi!<|eot_id|>", parse)
    for text in ("▁", "▁▁", " ▁ ", "a▁b", "Ġ", "ĠĠ", "Ċ", "aĠb", "<0x", "0x41>", "<0xZZ>", "<0x4", "<0x0a>"):
        corpus.add(text)


def add_long_runs(corpus):
    for unit in ("a", " ", "\n", "\t", "ab", "aA", " a", "1", ".", "=-", "é", "한", "😀", "\u0301", " \n", "\r\n", "xyz ",
                 "the ", "'s", "e", "abcdefghijklmnopqrstuvwxyz", "ſ", "<s>", "word word2, "):
        for repeat in (33, 257, 5000):
            corpus.add(unit, repeat=repeat)
    for unit in (b"\xff", b"\xe2\x96", b"\x80"):
        corpus.add(unit, repeat=3000)
    giant = "".join(corpus.random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(3000))
    corpus.add(giant)
    corpus.add(" ".join(corpus.words(600)))


def escape(data: bytes) -> str:
    out = []
    for char in data.decode("utf-8", "surrogateescape"):
        code = ord(char)
        if char == "\\":
            out.append("\\\\")
        elif 0xDC80 <= code <= 0xDCFF:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif char == " " or char.isprintable():
            out.append(char)
        else:
            out.extend(f"\\x{byte:02x}" for byte in char.encode())
    return "".join(out)


class ModelParams(ctypes.Structure):
    """llama_model_params of the version named above; it is passed by value, so another version may need other fields."""

    _fields_ = (
        [(name, ctypes.c_void_p) for name in ("devices", "tensor_buft_overrides")]
        + [(name, ctypes.c_int32) for name in ("n_gpu_layers", "split_mode", "load_mode", "lazy_mode", "main_gpu")]
        + [(name, ctypes.c_void_p) for name in ("tensor_split", "progress_callback", "user_data", "kv_overrides")]
        + [(name, ctypes.c_bool) for name in ("vocab_only", "check_tensors", "use_extra_bufts", "no_host", "no_alloc",
                                              "load_mtp")]
    )


class Llama:
    """The few functions of llama.h that tokenizing needs."""

    def __init__(self, library):
        self.lib = ctypes.CDLL(library)
        self.lib.llama_model_load_from_file.restype = ctypes.c_void_p
        self.lib.llama_model_get_vocab.restype = ctypes.c_void_p
        self.lib.llama_model_default_params.restype = ModelParams
        self.lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, ModelParams]
        self.lib.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
        self.lib.llama_tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32,
                                            ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
        self.log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        self.lib.llama_log_set.argtypes = [type(self.log), ctypes.c_void_p]
        self.lib.llama_log_set(self.log, None)
        self.lib.llama_backend_init()

    def open(self, path):
        params = self.lib.llama_model_default_params()
        params.vocab_only = True
        model = self.lib.llama_model_load_from_file(str(path).encode(), params)
        if not model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        return self.lib.llama_model_get_vocab(model)

    def tokenize(self, vocab, data, parse_special):
        room = len(data) + 16
        ids = (ctypes.c_int32 * room)()
        n = self.lib.llama_tokenize(vocab, data, len(data), ids, room, False, parse_special)
        assert n >= 0, (data[:80], n)
        return ids[:n]


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def compact(ids):
    out = []
    i = 0
    while i < len(ids):
        j = i
        while j < len(ids) and ids[j] == ids[i]:
            j += 1
        out.append(f"{ids[i]}*{j - i}" if j - i > 1 else str(ids[i]))
        i = j
    if len(out) > 256:
        return f"#{len(ids)} {fnv1a(struct.pack(f'<{len(ids)}i', *ids)):016x}"
    return " ".join(out)


def make_corpus():
    corpus = Corpus()
    add_written_text(corpus)
    add_characters(corpus)
    add_spaces_digits_contractions(corpus)
    add_broken_utf8(corpus)
    add_control_tokens(corpus)
    add_long_runs(corpus)
    return list(corpus.lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama", required=True, help="llama.cpp's shared library")
    parser.add_argument("--vocabs", required=True, type=pathlib.Path, help="folder of the vocabulary files")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    args = parser.parse_args()
    lines = make_corpus()
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "corpus.txt", "w", encoding="utf-8", newline="\n") as out:
        for flags, data in lines:
            out.write(f"{flags}\t{escape(data)}\n")
    llama = Llama(args.llama)
    for name, file_name in VOCABS.items():
        vocab = llama.open(args.vocabs / file_name)
        with open(args.out / f"{name}.ids", "w", encoding="ascii", newline="\n") as out:
            for flags, data in lines:
                repeat = int(flags.partition("*")[2] or 1)
                out.write(compact(llama.tokenize(vocab, data * repeat, flags[0] == "p")) + "\n")
        print(f"{name}: {len(lines)} texts")


if __name__ == "__main__":
    main()
