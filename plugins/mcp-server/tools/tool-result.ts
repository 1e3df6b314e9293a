import { isMcpContent } from 'mortise/contracts/mcp-server';
import type { ToolFacts } from 'mortise/sdk';
import { isObject, type JsonObject, member } from '../wire/json.js';
import { hasStructuredContent } from '../wire/versions.js';

/** A tool's answer before it takes the form its caller asked for. */
export interface ToolAnswer {
  readonly result: JsonObject;
  /** The result, written while the tool is still accountable for what it returned. */
  readonly json: string;
  /** The tool itself says that it failed. */
  readonly isFailed: boolean;
  /** True for {@link isMcpContent}: the result already is what MCP clients read. */
  readonly native: boolean;
  /** What the tool's own shape had no room for. */
  readonly meta: JsonObject;
}

/**
 * Adds the correlation id and the names of ignored arguments, where the tool's output schema leaves room for them.
 * @throws what it takes for a value that is no JSON
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
  const result = isObject(returned) ? returned : { result: returned ?? null };
  const added: Record<string, unknown> = {};
  const meta: Record<string, unknown> = {};
  if (!Object.hasOwn(result, 'correlation_id') && takes(facts, 'correlation_id')) added.correlation_id = correlationId;
  if (warnings.length > 0) {
    const earlier = member(result, 'warnings');
    const all = Array.isArray(earlier) ? [...earlier, ...warnings] : warnings;
    if (takes(facts, 'warnings')) added.warnings = all;
    else meta['io.mortise/warnings'] = all;
  }
  const whole = Object.keys(added).length === 0 ? result : { ...result, ...added };
  return { ...ownAnswer(whole), meta };
}

/** An answer in a tool's own shape. @throws what it takes for a value that is no JSON */
export function ownAnswer(result: JsonObject): ToolAnswer {
  return { result, json: JSON.stringify(result), isFailed: isFailed(result), native: false, meta: {} };
}

function takes(facts: ToolFacts, name: string): boolean {
  if (facts.outputSchema?.additionalProperties !== false) return true;
  const properties = facts.outputSchema.properties;
  return isObject(properties) && Object.hasOwn(properties, name);
}

/** The members of a `tools/call` result. The text and the structured content are one and the same JSON. */
export function callResultText(answer: ToolAnswer, version: string): string {
  const { json } = answer;
  if (answer.native) return json.slice(1, -1);
  const structured = hasStructuredContent(version) ? `,"structuredContent":${json}` : '';
  const failed = answer.isFailed ? ',"isError":true' : '';
  return `"content":[{"type":"text","text":${JSON.stringify(json)}}]${structured}${failed}`;
}

/** A result that was put into an outbox is not lost: the model must not try again. */
function isFailed(result: JsonObject): boolean {
  const outboxId = member(result, 'outbox_id');
  return member(result, 'ok') === false && (outboxId === undefined || outboxId === null);
}
