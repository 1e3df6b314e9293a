import type { Method } from '../method.js';
import { chatCancel } from './chat-cancel.js';
import { chatHistory } from './chat-history.js';
import { chatSend } from './chat-send.js';
import { pluginMethod } from './plugin-method.js';
import { sessionList } from './session-list.js';
import { sessionUnwatch, sessionWatch } from './session-watch.js';

const methods: Readonly<Record<string, Method>> = {
  'chat.send': chatSend,
  'chat.history': chatHistory,
  'chat.cancel': chatCancel,
  'session.list': sessionList,
  'session.watch': sessionWatch,
  'session.unwatch': sessionUnwatch,
};

/** What answers a method: one of the socket's own, or one that a plugin contributed. */
export function findMethod(name: string): Method {
  return Object.hasOwn(methods, name) ? (methods[name] ?? pluginMethod(name)) : pluginMethod(name);
}
