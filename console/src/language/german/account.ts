export const ACCOUNT = {
  'export the account': 'das Konto exportieren',
} as const;
