import { type EnvelopeTemplate, isCodedError, isJsonObject, MortiseError } from '../sdk/index.js';
import { RefusedRequest, refusalRows } from './refusals.js';

/** An error as an envelope shows it. */
export interface Failure {
  readonly code: string;
  /** The code in upper case, or the reason of a refusal. */
  readonly reason: string;
  /** 400 to 599. */
  readonly status: number;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly hint: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  /** The error had no code: its cause is logged, and none of it is sent. */
  readonly unexpected: boolean;
}

/** The ids of the request in an error body. */
export interface RequestIds {
  readonly requestId: string;
  readonly correlationId: string;
}

/** Renders the body of an error. */
export type Envelope = (failure: Failure, ids: RequestIds) => unknown;

/** The values of a template's placeholders. */
type Facts = Readonly<Record<string, unknown>>;
type Render = (facts: Facts) => unknown;

const placeholder = /^\{(\w+)\}$/;

/** The envelope of the default mount. */
export const defaultEnvelope = compileEnvelope({
  error: { code: '{code}', message: '{message}', details: '{details}', hint: '{hint}' },
});

/** Compiles the template of a manifest; the manifest's schema has checked its placeholders. */
export function compileEnvelope(template: EnvelopeTemplate): Envelope {
  const render = compile(template);
  return (failure, ids) => render({ ...failure, ...idFacts(ids) });
}

/** Compiles a template that knows only `request_id` and `correlation_id`. */
export function compileIdTemplate(template: EnvelopeTemplate): (ids: RequestIds) => unknown {
  const render = compile(template);
  return (ids) => render(idFacts(ids));
}

function idFacts({ requestId, correlationId }: RequestIds): Facts {
  return { request_id: requestId, correlation_id: correlationId };
}

function compile(template: EnvelopeTemplate): Render {
  if (typeof template === 'string') {
    const name = placeholder.exec(template)?.[1];
    return name === undefined ? () => template : (facts) => facts[name];
  }
  if (typeof template !== 'object' || template === null) return () => template;
  if (isList(template)) {
    const items = template.map(compile);
    return (facts) => items.map((render) => render(facts));
  }
  if (typeof template.$from === 'string') return compileLookup(template.$from, template.map, template.default);
  const members = Object.entries(template).map(([name, value]) => [name, compile(value)] as const);
  return (facts) => {
    const rendered = members.map(([name, render]) => [name, render(facts)] as const);
    return Object.fromEntries(rendered.filter(([, value]) => value !== undefined));
  };
}

function compileLookup(from: string, map: EnvelopeTemplate | undefined, otherwise: unknown): Render {
  const read = factReader(from);
  if (typeof map !== 'object' || map === null) return (facts) => read(facts) ?? otherwise;
  const table = new Map<string, unknown>(Object.entries(map));
  return (facts) => table.get(String(read(facts))) ?? otherwise;
}

/** Reads a field of the error, or a member of its details (`details.param`). */
function factReader(from: string): (facts: Facts) => unknown {
  const member = /^details\.(.+)$/.exec(from)?.[1];
  if (member === undefined) return (facts) => facts[from];
  return ({ details }) => (isJsonObject(details) ? details[member] : undefined);
}

function isList(template: object): template is readonly EnvelopeTemplate[] {
  return Array.isArray(template);
}

const unexpected: Failure = {
  code: refusalRows.internal_error.code,
  reason: refusalRows.internal_error.reason,
  status: 500,
  message: refusalRows.internal_error.sentence,
  details: undefined,
  hint: undefined,
  retryable: false,
  retryAfterSeconds: undefined,
  unexpected: true,
};

/** Reads what was thrown. Coded errors are shown as they are, everything else becomes `internal_error`. */
export function toFailure(error: unknown): Failure {
  if (!isCodedError(error)) return unexpected;
  const own = error instanceof MortiseError ? error : undefined;
  // Plain objects with a code have not removed secrets from their texts.
  const { message, details } = own ?? new MortiseError(error.code, error.message, { details: error.details ?? {} });
  return {
    code: error.code,
    reason: error instanceof RefusedRequest ? error.row.reason : error.code.toUpperCase(),
    status: errorStatus(error.status),
    message,
    details: error.details && details,
    hint: own?.hint,
    retryable: own?.retryable ?? false,
    retryAfterSeconds: own?.retryAfterSeconds,
    unexpected: false,
  };
}

/** A thrown status counts only when it is an error status. 499 means that the client left, so no client may receive it. */
function errorStatus(status: number | undefined): number {
  if (status === 499) return 503;
  return status !== undefined && Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500;
}
