/** The words to look for. A real module would keep a list for each account. */
export const KEYWORDS = ['forward', 'invoice', 'urgent'];
