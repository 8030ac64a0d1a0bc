// SPDX-License-Identifier: Apache-2.0
// Numbers for people.

function short(number: number): string {
  const size = Math.abs(number);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return String(Number(number.toFixed(digits)));
}

export function bytes(amount: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; Math.abs(amount) >= 1024 && unit + 1 < units.length; unit++)
    amount /= 1024;
  return `${short(amount)} ${units[unit]}`;
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

/** Seconds in the unit that fits them, or units of a plan as they are. */
export function time(value: number, inSeconds: boolean): string {
  if (!inSeconds) return short(value);
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return `${short(value)} s`;
  if (size >= 1e-3) return `${short(value * 1e3)} ms`;
  if (size >= 1e-6) return `${short(value * 1e6)} µs`;
  return `${short(value * 1e9)} ns`;
}

/** Of the ticks of an axis: all in one unit, with the digits they need. */
export function ticks(
  values: number[],
  step: number,
  inSeconds: boolean,
): string[] {
  const last = Math.max(...values.map(Math.abs), step);
  const [scale, unit] = !inSeconds
    ? [1, ""]
    : last >= 1
      ? [1, " s"]
      : last >= 1e-3
        ? [1e3, " ms"]
        : last >= 1e-6
          ? [1e6, " µs"]
          : [1e9, " ns"];
  let digits = 0;
  const isWhole = (number: number) =>
    Math.abs(number - Math.round(number)) < 1e-6 * Math.max(1, number);
  while (digits < 12 && !isWhole(step * scale * 10 ** digits)) digits++;
  return values.map((value) => (value * scale).toFixed(digits) + unit);
}

export function escape(text: string): string {
  return text.replace(
    /[&<>"]/g,
    (letter) =>
      ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]!,
  );
}
