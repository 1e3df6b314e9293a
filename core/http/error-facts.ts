const deepestCause = 3;

/**
 * What the log may know of an unexpected error: its type, its code and where it was thrown. Never its message, which
 * often quotes what somebody sent.
 */
export function errorFacts(error: unknown, depth = 0): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { type: typeof error };
  const code: unknown = Reflect.get(error, 'code');
  return {
    type: error.name,
    ...(typeof code === 'string' && { code }),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 12)
      .map((line) => line.trim()),
    ...(error.cause !== undefined && depth < deepestCause && { cause: errorFacts(error.cause, depth + 1) }),
  };
}
