import { isObject, isText, type Json } from './json.js';

/** Which model a turn talks with, by the names that people use. */
export interface ModelSlot {
  readonly providerId: string;
  readonly model: string;
}

/** What answers on an empty machine. */
const demo: ModelSlot = { providerId: 'demo', model: 'demo-chat' };

/** The configured `<provider>/<model>`; models may have slashes in their names. */
export function readSlot(text: string | undefined): ModelSlot | undefined {
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  return { providerId: text.slice(0, slash), model: text.slice(slash + 1) };
}

/** The chat's own choice, else the configured model, else the demo. */
export function chooseSlot(meta: Json, configured: ModelSlot | undefined): ModelSlot {
  const own = meta.active_llm_override;
  if (isObject(own) && isText(own.provider_id) && isText(own.model)) {
    return { providerId: own.provider_id, model: own.model };
  }
  return configured ?? demo;
}
