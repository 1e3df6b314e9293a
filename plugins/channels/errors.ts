import { errorTable } from 'mortise/sdk';

export const { error: channelError, storing } = errorTable(
  {
    invalid_json: [400, 'invalid request body'],
    channel_not_supported: [400, 'the channel is not supported'],
    invalid_channel_config: [400, 'the configuration does not fit the channel'],
    not_found: [404, 'channel not found'],
    forbidden: [403, 'this key may not read or change the channels of all users'],
    reveal_forbidden: [403, 'secrets are revealed only with the admin right of a configured key'],
    store_error: [500, 'the channels cannot be read or stored'],
  },
  { reveal_forbidden: 'forbidden' },
);
