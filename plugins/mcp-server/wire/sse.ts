/** Milliseconds after which a client may come back to a stream that broke. */
const retryMs = 1_000;

/** One JSON-RPC message as a server-sent event. JSON text holds no line break, so one `data` line is enough. */
export function eventText(json: string, id?: string): string {
  return id === undefined ? `event: message\ndata: ${json}\n\n` : `id: ${id}\nevent: message\ndata: ${json}\n\n`;
}

/** An event without data: gives the client an id to resume from before anything was said. */
export function primingText(id: string): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}
