"""Fake secrets from tests/attacks/secrets.yaml, made of random characters on demand."""

import random
import re
import string
from pathlib import Path
from typing import NamedTuple

import msgspec

TABLE = Path(__file__).parents[1] / "attacks" / "secrets.yaml"
_ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "id": string.ascii_letters + string.digits + "_-",
    "letters": string.ascii_letters,
    "lower": string.ascii_lowercase + string.digits,
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "word": string.ascii_lowercase + string.digits,
}
_NEVER_HEX = "ghijklmnopqrstuvwxyz"
_RANDOM = re.compile(r"<(\w+) (\d+)>|<uuid4>")


class FakeSecret(NamedTuple):
    """A line with a secret in it; `body` is the longest random part of the secret."""

    kind: str
    name: str
    text: str
    secret: str
    body: str


def fakes(seed: int = 1) -> list[FakeSecret]:
    """Return a line with a fresh secret for each row that wants to be masked."""
    dice = random.Random(seed)  # noqa: S311 - fake secrets
    found = []
    for row in _rows("masked"):
        parts = [_RANDOM.sub(lambda match: _run(match, dice), part) for part in row["secret"]]
        random_parts = [made for part, made in zip(row["secret"], parts, strict=True) if part != made]
        secret = "".join(parts)
        line = row.get("line", "{}")
        found.append(
            FakeSecret(
                row["class"].removeprefix("secrets/"),
                row.get("name", line),
                line.format(secret),
                secret,
                max(random_parts, key=len),
            )
        )
    return found


def readable() -> list[str]:
    """Return the lines that must stay as they are."""
    return [row["line"].format() for row in _rows("readable")]


def _rows(want: str) -> list[dict]:
    return [row for row in msgspec.yaml.decode(TABLE.read_bytes()) if row["want"] == want]


def _run(match: re.Match[str], dice: random.Random) -> str:
    if match[1] is None:
        digits = "".join(dice.choices(_ALPHABETS["hex"], k=32))
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
    made = "".join(dice.choices(_ALPHABETS[match[1]], k=int(match[2])))
    if match[1] not in {"word", "lower"}:
        return made
    # A digit in the middle: a word of letters alone could be an ordinary word. A letter that no hexadecimal number has:
    # a log of many megabytes holds every short one by chance.
    return made[0] + dice.choice(_NEVER_HEX) + "7" + made[3:]
