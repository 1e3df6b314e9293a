/** Text from outside as one line of a terminal or a log: it must neither break the line nor steer the terminal. */
export function oneLine(text: string): string {
  // Control characters, ends of lines, and what makes a terminal show the rest in another order.
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '·');
}
