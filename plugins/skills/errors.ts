import { errorTable } from 'mortise/sdk';

export const { error: skillError, storing } = errorTable(
  {
    invalid_json: [400, 'invalid request body'],
    invalid_skill: [400, 'invalid skill'],
    skill_not_found: [404, 'skill not found'],
    skill_file_not_found: [404, 'skill file not found'],
    forbidden: [403, 'this key may not change the skills of all users'],
    file_error: [500, 'the files of the skill could not be written'],
    store_error: [500, 'the skill store is not available'],
  },
  {
    skill_not_found: 'not_found',
    skill_file_not_found: 'not_found',
  },
);
