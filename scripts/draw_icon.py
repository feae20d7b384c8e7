"""Draws client/icon.png: a lens over the blocks of a grid, one of them at fault. Standard library only."""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path

SIZE = 256
SAMPLES = 4

Colour = tuple[int, int, int, int]

CLEAR: Colour = (0, 0, 0, 0)
BACKGROUND: Colour = (27, 35, 51, 255)
BLOCK: Colour = (73, 98, 138, 255)
SEEN_BLOCK: Colour = (126, 182, 255, 255)
FAULT: Colour = (255, 107, 91, 255)
RING: Colour = (240, 244, 250, 255)

LENS_CENTRE = (112.0, 112.0)
LENS_RADIUS = 62.0
RING_WIDTH = 13.0
HANDLE_END = (206.0, 206.0)
PITCH, BLOCK_SIDE, MARGIN = 44.0, 36.0, 28.0


def main() -> None:
    rows = [[pixel(column, row) for column in range(SIZE)] for row in range(SIZE)]
    target = Path(__file__).resolve().parent.parent / "client" / "icon.png"
    target.write_bytes(png(rows))


def pixel(column: int, row: int) -> Colour:
    """The mean of SAMPLES x SAMPLES points inside the pixel, weighted by how opaque each is."""
    points = [
        colour_at(column + (i + 0.5) / SAMPLES, row + (j + 0.5) / SAMPLES)
        for i in range(SAMPLES)
        for j in range(SAMPLES)
    ]
    opaque = sum(point[3] for point in points)
    if opaque == 0:
        return CLEAR
    red, green, blue = (round(sum(p[k] * p[3] for p in points) / opaque) for k in range(3))
    return (red, green, blue, round(opaque / len(points)))


def colour_at(x: float, y: float) -> Colour:
    if not inside_rounded(x, y, 0, 0, SIZE, 44):
        return CLEAR
    distance = math.dist((x, y), LENS_CENTRE)
    if abs(distance - LENS_RADIUS) <= RING_WIDTH / 2:
        return RING
    if distance > LENS_RADIUS and distance_to_handle(x, y) <= 11:
        return RING
    block_column, block_row = int((x - MARGIN) // PITCH), int((y - MARGIN) // PITCH)
    left, top = MARGIN + block_column * PITCH, MARGIN + block_row * PITCH
    in_grid = 0 <= block_column < 5 and 0 <= block_row < 5
    if not in_grid or not inside_rounded(x, y, left, top, BLOCK_SIDE, 6):
        return BACKGROUND
    if distance > LENS_RADIUS:
        return BLOCK
    return FAULT if (block_column, block_row) == (1, 2) else SEEN_BLOCK


def distance_to_handle(x: float, y: float) -> float:
    start = LENS_CENTRE[0] + LENS_RADIUS * math.sqrt(0.5), LENS_CENTRE[1] + LENS_RADIUS * math.sqrt(0.5)
    span = HANDLE_END[0] - start[0], HANDLE_END[1] - start[1]
    along = ((x - start[0]) * span[0] + (y - start[1]) * span[1]) / (span[0] ** 2 + span[1] ** 2)
    along = min(1.0, max(0.0, along))
    return math.dist((x, y), (start[0] + along * span[0], start[1] + along * span[1]))


def inside_rounded(x: float, y: float, left: float, top: float, side: float, radius: float) -> bool:
    half = side / 2
    dx = max(abs(x - left - half) - half + radius, 0.0)
    dy = max(abs(y - top - half) - half + radius, 0.0)
    return math.hypot(dx, dy) <= radius


def png(rows: list[list[Colour]]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 6, 0, 0, 0)
    raw = b"".join(b"\0" + bytes(value for colour in row for value in colour) for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    main()
