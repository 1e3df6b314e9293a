/**
 * The runtime's own FormData is unknown to the packaged client, which would send its name instead of its content: it is
 * written out first.
 */
export async function withPortableBody(init: RequestInit): Promise<RequestInit> {
  if (!(init.body instanceof FormData)) return init;
  const written = new Response(init.body);
  const headers = new Headers(init.headers);
  headers.set('content-type', written.headers.get('content-type') ?? 'multipart/form-data');
  return { ...init, headers, body: await written.arrayBuffer() };
}
