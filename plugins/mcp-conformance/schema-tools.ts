import { objectSchema, type Tools, text, tool } from './tool.js';

const string = { type: 'string' };

/** Tools whose input schema is what is looked at. */
export const schemaTools: Tools = {
  json_schema_2020_12_tool: tool('Has an input schema with many keywords.', () => text('The arguments fit.'), {
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } },
      },
      properties: {
        name: string,
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: string,
        email: string,
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  }),
  test_custom_headers: tool('Has an argument that a header repeats.', (args) => text(JSON.stringify(args)), {
    inputSchema: objectSchema({ region: { ...string, 'x-mcp-header': 'Region' }, query: string }, ['region', 'query']),
  }),
};
