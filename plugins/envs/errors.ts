import { errorTable } from 'mortise/sdk';

export const { error: envError, storing } = errorTable(
  {
    invalid_json: [400, 'invalid request body'],
    invalid_env_key: [400, 'env keys must not be blank and must not contain =, NUL or white space'],
    not_found: [404, 'env key not found'],
    forbidden: [403, 'this key may not read or change the variables of all users'],
    reveal_forbidden: [403, 'secrets are revealed only with the admin right of a configured key'],
    store_error: [500, 'the variables cannot be read or stored'],
  },
  { reveal_forbidden: 'forbidden' },
);
