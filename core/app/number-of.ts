/** The number that a variable says; `otherwise` when it says none, or one below zero. */
export function numberOf(text: string | undefined, otherwise: number): number {
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) || value < 0 ? otherwise : value;
}
