"""The outline of a file in each language, and files without one."""

from baton.cli.codemap.outline import LARGEST, outline
from baton.shared.code_map import MOST_SYMBOLS
from tests.support.cases import every

SOURCES = {
    "a.py": (
        "LIMIT = 3\nclass Cart(Base):\n    def add(self): ...\n    class Item: ...\nif X:\n    async def run(): ...\n",
        ["constant LIMIT", "class Cart", "method Cart.add", "class Cart.Item", "function run"],
    ),
    "broken.py": ("class Cart:\n    def add(self:\n", ["class Cart", "method Cart.add"]),
    "a.js": (
        "export class Cart { add(x) {} }\nexport default function run() {}\nconst go = async (x) => 1;\nlet n = 3;\n",
        ["class Cart", "method Cart.add", "function run", "function go"],
    ),
    "a.php": ("<?php\nnamespace A;\nclass Cart { public function add() {} }\nfunction run() {}\n", ["class Cart", "function run"]),
    "a.rb": ("module Shop\n  class Cart\n    def add!; end\n    def self.make; end\n  end\nend\n",
             ["class Cart", "method Cart.add!", "method Cart.make"]),
    "a.sh": ("run() { echo; }\nfunction stop { :; }\n", ["function run", "function stop"]),
    "a.pl": ("package Shop;\nsub add { 1 }\n", ["function add"]),
    "a.ts": (
        ("export interface Item { id: string }\nexport abstract class Cart<T> {\n  private add(item: Item): void {\n  }\n}\n"
        "export type Id = string;\nexport const go = async (x: number): Promise<void> => {\n};\nenum Kind { A }\n"),
        ["type Item", "class Cart", "method Cart.add", "type Id", "function go", "type Kind"],
    ),
    "a.go": ("package shop\ntype Cart struct {\n}\nfunc (c *Cart) Add(i Item) error {\n}\nfunc Run() {}\n", ["type Cart", "function Add", "function Run"]),
    "a.rs": ("pub struct Cart;\nimpl Cart {\n    pub fn add(&self) {}\n}\npub(crate) async fn run() {}\n", ["type Cart", "class Cart", "method Cart.add", "function run"]),
    "A.java": ("public final class Cart {\n    public void add(Item item) throws X {\n        if (a) {\n        }\n    }\n}\n", ["class Cart", "method Cart.add"]),
    "a.c": ("static int add(int a, int b)\n{\n}\nint main(void) {\n", ["function add", "function main"]),
    "a.sql": ("CREATE TABLE IF NOT EXISTS carts (id int);\n", ["type carts"]),
}  # fmt: skip


def shown(path, text):
    made = outline(path, text.encode())
    return [f"{one.kind} {one.within + '.' if one.within else ''}{one.name}" for one in made.symbols]


@every("path", SOURCES)
def test_definitions_are_found(path):
    text, symbols = SOURCES[path]
    assert shown(path, text) == symbols


def test_lines_count_from_one_and_names_that_are_used_are_listed():
    made = outline("a.py", b"\nclass Cart:\n    x = TaxTable(rate_for, rate_for)\n")
    assert [one.line for one in made.symbols] == [2]
    assert made.mentions == ("rate_for", "TaxTable")


@every(
    ("path", "content"),
    [
        ("a.txt", b"class A: ..."), ("README.md", b"# x"), ("a.min.js", b"x" * 5_000), ("a.py", b"#" * (LARGEST + 1)),
        ("a.py", b"\0\0"), ("a`b.py", b"class A: ..."),
    ],
)  # fmt: skip
def test_other_files_have_no_outline(path, content):
    assert outline(path, content) is None


def test_no_secret_and_no_text_is_in_it():
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    made = outline(
        "a.py",
        f"PASSWORD = 'hunter2hunter2'\nclass {secret}:\n    '''words of the text'''\n{secret}_x = use_it({secret})\n".encode(),
    )
    assert secret not in repr(made)
    assert "hunter2" not in repr(made)
    assert "words of the text" not in repr(made)


def test_a_file_with_too_many_keeps_the_outermost():
    text = "class A:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(MOST_SYMBOLS)) + "def last(): ...\n"
    made = outline("a.py", text.encode())
    assert len(made.symbols) == MOST_SYMBOLS
    assert made.symbols[-1].name == "last"
    assert made.symbols[0].name == "A"


@every("text", ["class " * 150, "(" * 900, "a " * 490 + "(", "    " + "x.y:" * 200, "const a: " + "= " * 400])
def test_odd_lines_are_read_and_cost_no_more_than_others(text):
    for path in ("a.ts", "a.py", "a.go", "a.js", "a.rb", "a.php", "a.sh"):
        outline(path, "\n".join([text] * 20).encode())
