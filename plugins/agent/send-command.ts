import { once } from 'node:events';
import { text as readAll } from 'node:stream/consumers';
import { type ClientCommand, readEventData, wrongUsage } from 'mortise/sdk';

/** Maximum characters of one event. */
const maxEventLength = 32 * 1_048_576;

/** `mortise chats send`: prints the reply, or with `--stream` the server-sent events as they arrive. */
const sendCommand: ClientCommand = async ({ options, json }, { request, stream, command, env, stdin, stdout }) => {
  const { chatSession, message, stream: isStreamed } = options;
  if (typeof chatSession !== 'string') return wrongUsage(command, '--chat-session is required.');
  if (typeof message !== 'string') return wrongUsage(command, '--message is required.');
  const text = message === '-' ? await readAll(stdin) : message;
  const body = {
    input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
    session_id: chatSession,
    user_id: options.userId ?? env.MORTISE_USER_ID ?? 'demo-user',
    channel: options.channel ?? env.MORTISE_CHANNEL ?? 'console',
    stream: isStreamed === true,
  };
  if (isStreamed !== true) {
    const answer = await request<{ reply?: string }>('POST', '/agent/process', body);
    return { exitCode: 0, data: answer, text: answer.reply ?? 'The message was accepted, but no turn answers it.' };
  }
  let hasFailed = false;
  async function* printed() {
    for await (const part of stream('POST', '/agent/process', body)) {
      if (!json && !stdout.write(part)) await once(stdout, 'drain');
      yield part;
    }
  }
  const events: unknown[] = [];
  for await (const data of readEventData(printed(), maxEventLength)) {
    if (data === '[DONE]') break;
    const event = JSON.parse(data) as { readonly type?: unknown };
    hasFailed ||= event.type === 'error';
    if (json) events.push(event);
  }
  return { exitCode: hasFailed ? 1 : 0, data: { events }, text: '' };
};

export default sendCommand;
