import { errorTable } from 'mortise/sdk';

export const { error: workspaceError } = errorTable(
  {
    invalid_path: [400, 'invalid workspace file path'],
    invalid_json: [400, 'invalid request body'],
    invalid_multipart: [400, 'invalid multipart form data'],
    invalid_ai_tools_guide: [400, 'content is required'],
    invalid_skill: [400, 'skill name in body must match file path'],
    invalid_import_mode: [400, 'mode must be replace'],
    invalid_import_version: [400, 'version must be v1'],
    not_found: [404, 'workspace file not found'],
    method_not_allowed: [405, 'config files cannot be deleted'],
    forbidden: [403, 'this key may not read or change the settings of all users'],
    reveal_forbidden: [403, 'secrets are revealed only with the admin right of a configured key'],
    unsupported_file: [422, 'the file is not a text of at most 32 MiB'],
    payload_too_large: [413, 'the file is larger than 20 MiB'],
    not_available: [503, 'this part of the workspace is not available'],
    file_error: [500, 'the file could not be written'],
  },
  { reveal_forbidden: 'forbidden' },
);
