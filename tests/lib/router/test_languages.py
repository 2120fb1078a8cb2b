"""Prompts in seven languages become English words of the trade; English ones stay as they are."""

from baton.lib.router.languages import LONGEST, in_english
from tests.support.cases import every


@every(
    ("prompt", "words"),
    [
        ("Bitte pr\u00fcfe die Datenbankabfrage auf Fehler", ["review", "database", "query", "bug"]),
        ("Écris la documentation du module", ["write", "documentation", "module"]),
        ("Escribe pruebas para el carrito", ["write", "test"]),
        ("Otimize a consulta ao banco de dados", ["optimize", "query", "database"]),
        ("请审查这段代码的安全漏洞", ["review", "code", "security", "vulnerability"]),
        ("データベースのクエリが遅い", ["database", "query", "slow"]),
        ("단위테스트를 작성해 줘, React 컴포넌트", ["unit test", "write", "React", "component"]),
    ],
)
def test_technical_words_are_translated(prompt, words):
    assert all(word in in_english(prompt) for word in words), in_english(prompt)


@every("prompt", ["review the code, then die", "use the café fixture", "plan a test of the page", "", "x" * 5_000])
def test_english_is_not_translated(prompt):
    assert in_english(prompt) == prompt


def test_a_long_prompt_keeps_its_end():
    assert in_english("检查代码" * LONGEST + "the end").endswith("the end")
