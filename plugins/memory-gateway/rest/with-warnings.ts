/** A result with further warnings behind its own. */
export function withWarnings<R extends { readonly warnings?: readonly string[] }>(
  result: R,
  warnings: readonly string[],
): R {
  return warnings.length === 0 ? result : { ...result, warnings: [...(result.warnings ?? []), ...warnings] };
}
