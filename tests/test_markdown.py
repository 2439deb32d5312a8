"""Markdown of a model: useful as a page, and nothing in it can act."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.markdown import ATTRIBUTES, CLASSES, LONGEST, TAGS, rendered

ALLOWED = {**ATTRIBUTES, "a": {"href", "target", "rel"}, "span": {"class"}}


class Reader(HTMLParser):
    """Every tag with its attributes, as a browser's parser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")


def harmless(html: str) -> Reader:
    found = Reader(html)
    for tag, attributes in found.tags:
        assert tag in TAGS, html
        assert set(attributes) <= ALLOWED.get(tag, set()), html
        if tag == "span":
            assert set((attributes["class"] or "").split()) <= CLASSES["span"]
        if tag == "a" and "href" in attributes:
            address = attributes["href"] or ""
            assert address.split(":")[0].lower() in ("http", "https", "mailto"), html
            assert attributes["rel"] == "noopener noreferrer"
            assert attributes["target"] == "_blank"
    return found


ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<form action=//evil.example><input name=x><button>go",
    "<style>*{background:url(//evil.example)}</style>",
    "<link rel=stylesheet href=//evil.example><base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<div style='position:fixed;inset:0'>over everything</div>",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A&#x61lert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](file:///etc/passwd)",
    "[x](blob:https://example.org/1)",
    "[x](view-source:https://example.org)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://e.org "a\\" onmouseover=\\"alert(1)")',
    "[x](https://e.org 'a\" onmouseover=\"alert(1)')",
    "[x](https://e.org/\"onmouseover=\"alert(1))",
    "![x](https://evil.example/pixel.png)",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "![x](javascript:alert(1))",
    "![<img src=x onerror=alert(1)>](https://e.org)",
    "![a\" onerror=\"alert(1)](https://e.org/\"onload=\"x)",
    "[![x](https://evil.example/a.png)](https://e.org)",
    "[x](/admin/logout/)",
    "[x](//evil.example)",
    "[x](#outputs)",
    "[x](?a=b)",
    "```html onload=alert(1)\n<script>alert(1)</script>\n```",
    "```\"><script>alert(1)</script>\nx\n```",
    "`<script>alert(1)</script>`",
    "    <script>alert(1)</script>",
    "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "# <img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\\<script>alert(1)\\</script>",
    "<a href='java&#x0A;script:alert(1)'>x</a>",
    "<x onclick=alert(1) id=outputs class=toast name=body>x</x>",
    "\u202e<script>alert(1)</script>",
    "<scr\0ipt>alert(1)</scr\0ipt>",
    "<a/href=javascript:alert(1)>x",
    "*<script>*alert(1)*</script>*",
    "<details open ontoggle=alert(1)>x",
    "{% csrf_token %}{{ request.user }}",
]  # fmt: skip


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_in_it_can_act(text: str) -> None:
    harmless(rendered(text))
    harmless(rendered(f"> - {text}\n\n{text}"))


@given(st.text(alphabet="<>[]()!\"'`&#;:/\\ \n=*_~|-abscriptjvdo0x1{}", max_size=200))
def test_no_text_makes_anything_but_the_tags_of_a_page(text: str) -> None:
    harmless(rendered(text))


@given(st.text(max_size=300))
def test_any_text_is_rendered(text: str) -> None:
    harmless(rendered(text))


def test_html_is_shown_as_it_was_written() -> None:
    found = Reader(rendered("<b>bold?</b> & <i>so on</i>"))
    assert found.text.strip() == "<b>bold?</b> & <i>so on</i>"


def test_it_is_a_page() -> None:
    html = rendered(
        "# Title\n\nSome *em*, **strong**, ~~gone~~, `code`.\n\n- a\n- b\n\n3. c\n\n"
        "| x | y |\n|---|---|\n| 1 | 2 |\n\n> said\n\n```py\nprint('a  b')\n```\n\n---\n"
    )
    tags = {tag for tag, _ in harmless(html).tags}
    assert {
        "h1",
        "em",
        "strong",
        "s",
        "code",
        "ul",
        "ol",
        "table",
        "blockquote",
        "pre",
        "hr",
    } <= tags
    assert "print('a  b')" in Reader(html).text
    assert '<ol start="3">' in html


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("[bank](https://example.org/a)", "example.org"),
        ("<https://example.org>", "example.org"),
        ("[bank.example](https://user:pw@evil.example:8443/bank.example)", "evil.example"),
        ("[x](https://bank.example\\@evil.example/)", "evil.example"),
        ("[write](mailto:someone@example.org)", "someone@example.org"),
        ("[bank][1]\n\n[1]: http://example.org/b", "example.org"),
        ("![a picture](https://example.org/p.png)", "example.org"),
    ],
)
def test_a_link_says_where_it_leads(text: str, host: str) -> None:
    html = rendered(text)
    assert f'<span class="md__host">{host}</span>' in html
    assert [tag for tag, _ in harmless(html).tags].count("a") == 1


def test_a_host_that_looks_like_another_is_shown_in_ascii() -> None:
    assert ">xn--" in rendered("[bank](https://b\u0430nk.example/)")


def test_images_are_not_loaded() -> None:
    html = rendered("![a heron](https://example.org/p.png)")
    assert "<img" not in html
    assert "a heron" in html


def test_an_unclosed_fence_swallows_only_itself() -> None:
    html = rendered("before\n\n```\ncode with <b> and no end")
    assert Reader(html).text.split() == ["before", "code", "with", "<b>", "and", "no", "end"]


N = 1_000_000
LONG = {
    "brackets": "[" * N,
    "quotes": ">" * N,
    "quoted lines": ("> " * 40 + "x\n") * (N // 82),
    "stars": "*a_ " * (N // 4),
    "backticks": "".join("`" * i + " " for i in range(1, 1400)),
    "links": "[a](b" * (N // 5),
    "images": "![" * (N // 2),
    "lists": "".join(" " * (i % 60) + "- a\n" for i in range(N // 34)),
    "a wide table": ("|a" * 1000 + "|\n" + "|-" * 1000 + "|\n" + ("|x" * 1000 + "|\n") * 498),
    "a table of short rows": "|" + "a|" * 5000 + "\n|" + "-|" * 5000 + "\n" + "a\n" * 490_000,
    "references": "[a]: x\n" * (N // 7),
    "entities": "&#x41;" * (N // 6),
    "nested lists": "\n".join("  " * i + "- a" for i in range(1400)),
    "tags": "<a " * (N // 3),
    "words": "word " * (N // 5),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_megabyte_of_anything_is_bounded(kind: str) -> None:
    """Seconds on a slow machine, where the whole of it would take minutes."""
    began = time.process_time()
    html = rendered(LONG[kind])
    assert time.process_time() - began < 20
    assert len(html) < 20 * LONGEST
    harmless(html)
