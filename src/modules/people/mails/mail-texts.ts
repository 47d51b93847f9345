import type { Mail } from '../../../platform/mail/mailer.service.js';
import type { MailContent } from './sign-in-mails.service.js';

const MAX_NAME = 100;

/** Of a mail that brings a link. The names in it are what others have typed: they stand in its text alone. */
export function mailTextOf(content: MailContent, url: string): Pick<Mail, 'subject' | 'text' | 'html'> {
  const { subject, lines, label } = wordsOf(content);
  const ends = `The link works once, until ${timeText(content.expiresAt)}.`;
  return mailText(subject, [...lines, { label, url }, `${ends} Do not pass it on: anyone who has it can use it.`]);
}

/** Of a mail with which an operator tries the server. */
export const testMailText = (url: string): Pick<Mail, 'subject' | 'text' | 'html'> =>
  mailText('A test of the voice notes service', ['This service can send mail.', { label: 'Open the console', url }]);

function wordsOf(content: MailContent): { subject: string; lines: string[]; label: string } {
  const { personId, role, madeBy, accountName, makerName } = content;
  const account = `the account “${oneLine(accountName)}”`;
  if (personId === null)
    return {
      subject: 'You are invited to voice notes',
      lines: [`${makerName === null ? 'Somebody' : oneLine(makerName)} invites you to ${account} as ${role}.`],
      label: 'Accept the invitation',
    };
  const isOwn = madeBy === personId;
  return {
    subject: 'Your link to sign in to voice notes',
    lines: [
      isOwn
        ? `Somebody, probably you, has asked for a link to sign in to ${account}.`
        : `${makerName === null ? 'The operator of the service' : oneLine(makerName)} has made a link with which you sign in to ${account}.`,
      'You can set another password with it. If you did not expect this, ignore this mail.',
    ],
    label: 'Sign in',
  };
}

type Paragraph = string | { label: string; url: string };

function mailText(subject: string, paragraphs: readonly Paragraph[]): Pick<Mail, 'subject' | 'text' | 'html'> {
  const text = paragraphs.map((each) => (typeof each === 'string' ? each : `${each.label}:\n${each.url}`));
  const html = paragraphs.map((each) =>
    typeof each === 'string' ? escape(each) : `<a href="${escape(each.url)}">${escape(each.label)}</a>`,
  );
  return { subject, text: `${text.join('\n\n')}\n`, html: html.map((each) => `<p>${each}</p>`).join('\n') };
}

const oneLine = (name: string): string =>
  [...name.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()].slice(0, MAX_NAME).join('');

const timeText = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
