/** The beginnings of our secrets, sign-in codes and access tokens, with all that follows: base64 has slashes. */
const SECRET = /(vns_|vnc_|whsec_|eyJ).*$/s;

/** A text for logs or tables, without a secret that a client put into it by mistake. */
export const redactSecrets = (text: string): string => text.replace(SECRET, '$1…');
