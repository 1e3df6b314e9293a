import { isMcpContent } from 'mortise/contracts/mcp-server';
import { isJsonObject, type JsonObject, type ToolFacts } from 'mortise/sdk';
import { member } from '../wire/params.js';
import { hasStructuredContent } from '../wire/protocol.js';

/** A tool's result, independent of the form in which it is sent. */
export interface ToolAnswer {
  readonly result: JsonObject;
  /** The result as JSON, serialised within the tool's lease so that a failure is attributed to the tool. */
  readonly json: string;
  /** The tool reported a failure. */
  readonly isFailed: boolean;
  /** True for {@link isMcpContent}: the result already has the form of MCP. */
  readonly native: boolean;
  /** Additions that the tool's output schema does not allow. */
  readonly meta: JsonObject;
}

/**
 * Adds the correlation id and the names of ignored arguments where the tool's output schema allows them.
 * @throws TypeError for a value that cannot be serialised
 */
export function toolAnswer(
  returned: unknown,
  facts: ToolFacts,
  correlationId: string,
  unknown: readonly string[],
): ToolAnswer {
  const warnings = unknown.map((name) => `unknown argument: ${name.slice(0, 128)}`);
  if (typeof returned === 'object' && returned !== null && isMcpContent(returned)) {
    return {
      result: { ...returned },
      json: JSON.stringify(returned),
      isFailed: false,
      native: true,
      meta: warnings.length > 0 ? { 'io.mortise/warnings': warnings } : {},
    };
  }
  const result = isJsonObject(returned) ? returned : { result: returned ?? null };
  const added: Record<string, unknown> = {};
  const meta: Record<string, unknown> = {};
  if (!Object.hasOwn(result, 'correlation_id') && allows(facts, 'correlation_id')) added.correlation_id = correlationId;
  if (warnings.length > 0) {
    const earlier = member(result, 'warnings');
    const all = Array.isArray(earlier) ? [...earlier, ...warnings] : warnings;
    if (allows(facts, 'warnings')) added.warnings = all;
    else meta['io.mortise/warnings'] = all;
  }
  const complete = Object.keys(added).length === 0 ? result : { ...result, ...added };
  return { ...ownAnswer(complete), meta };
}

/** An answer in a tool's own form. @throws TypeError for a value that cannot be serialised */
export function ownAnswer(result: JsonObject): ToolAnswer {
  return { result, json: JSON.stringify(result), isFailed: isFailed(result), native: false, meta: {} };
}

function allows(facts: ToolFacts, name: string): boolean {
  if (facts.outputSchema?.additionalProperties !== false) return true;
  const properties = facts.outputSchema.properties;
  return isJsonObject(properties) && Object.hasOwn(properties, name);
}

/** The members of a `tools/call` result. The text and the structured content are the same JSON. */
export function callResultText(answer: ToolAnswer, version: string): string {
  const { json } = answer;
  if (answer.native) return json.slice(1, -1);
  const structured = hasStructuredContent(version) ? `,"structuredContent":${json}` : '';
  const failed = answer.isFailed ? ',"isError":true' : '';
  return `"content":[{"type":"text","text":${JSON.stringify(json)}}]${structured}${failed}`;
}

/** A result with an outbox id is not a failure: the memory will be delivered, and the model must not store it again. */
function isFailed(result: JsonObject): boolean {
  const outboxId = member(result, 'outbox_id');
  return member(result, 'ok') === false && (outboxId === undefined || outboxId === null);
}
