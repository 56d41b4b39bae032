"""What characters are to the full text: letters, separators, symbols, and scripts written without spaces.

Nothing here knows words; domain/text.py does. Everything is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
import unicodedata

SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0eff"  # Thai, Lao
    "\u1000-\u109f\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u19e0-\u19ff"  # Khmer
    "\u1950-\u19df"  # Tai Le, New Tai Lue
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7fb"  # Hangul
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # Hiragana, Katakana
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3105-\u312f\u31a0-\u31bf"  # marks used with Han, Bopomofo
    "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Han
)
"""The inside of a character class: scripts without spaces between words, and Hangul, whose words carry glued particles."""

_ODD = re.compile(r"[^\w\s\x21-\x7e]")
_SLICE = re.compile(r"(?s).{1,400}(?!\S)|.{1,400}(?=\w)|.{1,400}")
_MARKS = re.compile("[\u0300-\u036f]+")
_LETTERS_WITHOUT_DECOMPOSITION = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"})
_APOSTROPHES = "\u2018\u2019\u201b\u02bc"


def compose(text: str) -> str:
    """NFKC in linear time.

    Sorting the marks of one character is quadratic in the standard library, so the text is normalised in slices that end at white
    space or before a letter where there is one.
    """
    if text.isascii():
        return text
    return "".join([unicodedata.normalize("NFKC", piece) for piece in _SLICE.findall(text)])


def separate(text: str) -> str:
    """Composed text in which whatever is no word, no ASCII punctuation and no mark stands alone or has become white space.

    Punctuation beyond ASCII, control characters and lone surrogates become spaces; invisible format characters go; a symbol (an
    emoji, an arrow, a currency) stands between spaces; curly apostrophes become straight ones.
    """
    odd = set(_ODD.findall(text))
    return text.translate({ord(character): _spaced(character) for character in odd}) if odd else text


def fold(word: str) -> str:
    """The word without case and without Latin, Greek and Cyrillic accents; marks of other scripts stay."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", decomposed)).translate(_LETTERS_WITHOUT_DECOMPOSITION)


def is_mostly_latin(text: str) -> bool:
    """Whether at least half of the letters (of the first 4,000 characters) are Latin; true for a text without letters."""
    letters = [character for character in text[:4000] if character.isalpha()]
    latin = sum(character < "\u0250" or "\u1e00" <= character <= "\u1eff" for character in letters)
    return 2 * latin >= len(letters)


def _spaced(character: str) -> str:
    if character in _APOSTROPHES:
        return "'"
    category = unicodedata.category(character)
    if category in ("Mn", "Mc"):
        return character
    if category in ("Cf", "Me"):
        return " " if character == "\u200b" else ""
    return f" {character} " if category[0] == "S" or category == "Co" else " "
