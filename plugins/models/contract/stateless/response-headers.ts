import type { RouteContext } from 'mortise/sdk';
import type { ModelSlot } from '../models.js';

/** Names the model that answers. */
export function nameModel(ctx: RouteContext, { providerId, model }: ModelSlot): void {
  ctx.setHeader('X-Mortise-Model', headerText(`${providerId}/${model}`));
}

const maxNames = 32;

/** Names the fields of the request that have no effect. */
export function nameIgnored(ctx: RouteContext, names: readonly string[]): void {
  // Names come from the client: what a header cannot hold, or would read as two names, is left out.
  const shown = names.filter((name) => /^[\x21-\x2b\x2d-\x7e]{1,64}$/.test(name)).slice(0, maxNames);
  if (shown.length > 0) ctx.setHeader('X-Mortise-Ignored', shown.join(', '));
}

function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
