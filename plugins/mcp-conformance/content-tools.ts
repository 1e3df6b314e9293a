import { mcpContent } from 'mortise/contracts/mcp-server';
import { objectSchema, png, type Tools, text, tool, wav } from './tool.js';

const image = { type: 'image', data: png, mimeType: 'image/png' };

/** Tools for each kind of content block, and for errors. */
export const contentTools: Tools = {
  test_simple_text: tool('Returns text.', () => text('This is a simple text response for testing.')),
  test_image_content: tool('Returns an image.', () => mcpContent([image])),
  test_audio_content: tool('Returns audio.', () => mcpContent([{ type: 'audio', data: wav, mimeType: 'audio/wav' }])),
  test_embedded_resource: tool('Returns a resource.', () =>
    mcpContent([
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ]),
  ),
  test_multiple_content_types: tool('Returns several kinds of content.', () =>
    mcpContent([
      { type: 'text', text: 'Multiple content types test:' },
      image,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ]),
  ),
  test_error_handling: tool('Returns an error.', () =>
    mcpContent([{ type: 'text', text: 'This tool intentionally returns an error for testing' }], { isError: true }),
  ),
  greet: tool('Greets by name.', ({ name }) => text(`Hello, ${name}!`), {
    inputSchema: objectSchema({ name: { type: 'string' } }, ['name']),
  }),
};

const string = { type: 'string' };

/** Tools for the suite's checks of input schemas. */
export const schemaTools: Tools = {
  json_schema_2020_12_tool: tool('Has an input schema with many keywords.', () => text('The arguments are valid.'), {
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
