/**
 * Node's http module without the wrapper that `import` makes around it: the wrapper reads every export, and one of them
 * loads all of `fetch`, which costs each start some 30 ms.
 */
export const { createServer, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
