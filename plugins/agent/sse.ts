import type { TurnEvent, TurnFailure } from 'mortise/contracts/agent';

/** The end of every stream. */
export const streamEnd = 'data: [DONE]\n\n';

export function eventFrame(event: TurnEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export function errorFrame({ code, message, details }: TurnFailure): string {
  return `data: ${JSON.stringify({ type: 'error', meta: { code, message, ...(details ? { details } : {}) } })}\n\n`;
}
