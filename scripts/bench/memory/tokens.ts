import type { Measure } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';

/** Tokens of the tool list, estimated as bytes divided by four. */
export const measureTokens: Measure = async () => {
  const product = await startProduct();
  const poster = createPoster(product.origin, 1);
  try {
    const { text } = await poster.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const { result } = JSON.parse(text) as { readonly result: { readonly tools: readonly object[] } };
    const bytes = Buffer.byteLength(JSON.stringify(result.tools));
    return [{ name: `tools/list, ${result.tools.length} tools`, value: bytes / 4, unit: 'tokens', target: '<= 2000' }];
  } finally {
    poster.close();
    await product.dispose();
  }
};
