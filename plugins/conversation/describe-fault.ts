import { MortiseError } from 'mortise/sdk';

/** Class, code and place of an error, never its text: it may quote what a person wrote. A coded one is no place to look at. */
export function describeFault(error: unknown): { readonly error: string; readonly stack?: readonly string[] } {
  const { name, code, stack } = (error ?? {}) as { name?: unknown; code?: unknown; stack?: unknown };
  const frames =
    typeof stack === 'string' && !(error instanceof MortiseError)
      ? stack.split('\n').filter((line) => /^\s+at /.test(line))
      : [];
  return {
    error: typeof code === 'string' ? code : typeof name === 'string' ? name : 'error',
    ...(frames.length > 0 ? { stack: frames.map((line) => line.trim()) } : {}),
  };
}
