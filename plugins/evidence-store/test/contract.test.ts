import { createTestHost, toolContract } from 'mortise/sdk/testing';

toolContract('evidence_upload', {
  host: () => createTestHost({ plugins: ['evidence-store'], listen: false }),
  key: 'evidence_upload',
  valid: [
    { content: 'a mark that no log may hold', content_type: 'text/plain', title: 'mark' },
    { content: 'aGVsbG8=', content_type: 'text/plain;base64' },
  ],
  invalid: [
    { content: 1, content_type: 'text/plain' },
    { content: 'a', content_type: 'text/plain', item_id: 'one' },
  ],
  failing: [{ content: 'a', content_type: 'text/plain', project_key: '../a' }],
  secretText: 'a mark that no log may hold',
  repeatable: false,
});
