// Numbers in words that people read.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 2, notation: "compact" });
const exact = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5, notation: "compact" });

/** 12,345 */
export const count = (value) => whole.format(value);

/** Sessions and other small numbers: 0.056, 0.56, 5.6, 56, 5,600 */
export function number(value) {
  if (value === null) return "–"; // the binary element knows no expected count
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 99.5) return whole.format(value);
  const decimals = size >= 9.95 ? 0 : size >= 0.995 ? 1 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  return value.toFixed(decimals);
}

/** 0.426 -> 43%; small shares keep a digit. */
export function percent(share) {
  const value = 100 * share;
  if (value === 0) return "0%";
  if (value < 0.1) return "<0.1%";
  return `${value >= 9.95 || value === Math.round(value) ? value.toFixed(0) : value.toFixed(1)}%`;
}

/** 1.2M, for the ticks of an axis. */
export const tick = (value) =>
  value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(0) : short.format(value);

/** -1.187M, for those of an axis whose values differ little. */
export const fineTick = (value) => exact.format(value);

/** "1 item", "2 items" */
export const several = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

/** 33.7 MB */
export function size(bytes) {
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${["bytes", "kB", "MB", "GB", "TB"][power]}`;
}

/** "A, B and C" */
export const listed = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
