"""A picture of a hover: an SVG for editors that show images, the same as text for those that do not."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from enum import StrEnum


class PictureForm(StrEnum):
    """How an editor gets pictures."""

    IMAGE = "image"
    TEXT = "text"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Picture:
    """``svg`` is a whole document, ``text`` lines for a fixed-width font, ``title`` what an image is called."""

    title: str
    svg: str
    text: str

    def markdown(self, form: PictureForm) -> str:
        """The picture in a hover; "" where none is wanted."""
        if form is PictureForm.NONE:
            return ""
        if form is PictureForm.TEXT:
            return f"```text\n{self.text}\n```"
        # Brackets would end the image's name.
        name = self.title.replace("[", "(").replace("]", ")")
        return f"![{name}](data:image/svg+xml;base64,{b64encode(self.svg.encode()).decode()})"
