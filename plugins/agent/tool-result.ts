import { invalidResult, type ToolError } from './tool-errors.js';

/** How a call ended. `text` is sent to the model and stored; `summary` is for the event. */
export type ToolOutcome =
  | { readonly ok: true; readonly text: string; readonly summary: string }
  | { readonly ok: false; readonly text: string; readonly summary: string; readonly error: ToolError };

/** Code points of an event's summary. */
const summaryLimit = 160;

/** Maximum code points of a tool's text that a model is sent uncut, and lengths of the two ends of a longer one. */
const modelLimit = 65_536;
const modelHead = 49_152;
const modelTail = 8_192;

export function succeeded(name: string, result: unknown): ToolOutcome {
  const whole = textOf(result);
  if (whole === undefined) return failed(invalidResult(name));
  const text = fitForModel(whole);
  return { ok: true, text, summary: shorten(text.trim(), summaryLimit) };
}

/** Details and status of an error are for direct callers; the model's text does not contain them. */
export function failed(error: ToolError): ToolOutcome {
  const { details: _, status: __, hint, ...facts } = error;
  const shown = hint === undefined ? facts : { ...facts, detail: `${reasonOf(error)}. ${hint}` };
  const summary = shorten(`${error.code}: ${reasonOf(error)}`, summaryLimit);
  return { ok: false, text: JSON.stringify(shown), summary, error };
}

/** The detail explains a failed run, the message invalid arguments. */
function reasonOf({ error_code: kind, message, detail }: ToolError): string {
  return kind === 'EXECUTION_ERROR' ? (detail ?? message) : message;
}

/** The text of a result for the model: its own text, or its JSON; undefined when it has neither. */
function textOf(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  const { text } = result as { text?: unknown };
  if (typeof text === 'string') return text;
  try {
    return JSON.stringify(result);
  } catch {
    return undefined;
  }
}

/** The first `limit` code points, and `...` when there were more. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const points = [...text];
  return points.length <= limit ? text : `${points.slice(0, limit).join('')}...`;
}

/** The beginning and the end of a very long text, and how many code points were left out between them. */
function fitForModel(text: string): string {
  if (text.length <= modelLimit) return text;
  const points = [...text];
  if (points.length <= modelLimit) return text;
  const omitted = points.length - modelHead - modelTail;
  const head = points.slice(0, modelHead).join('');
  return `${head}\n... (${omitted} code points omitted)\n${points.slice(-modelTail).join('')}`;
}
