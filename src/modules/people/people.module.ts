import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InvitationsController, InviteesController } from './invitations.controller.js';
import { InvitationsService } from './invitations.service.js';
import { InviteesService } from './invitees.service.js';
import { MembersController } from './members.controller.js';
import { MembersService } from './members.service.js';
import { MembershipsController } from './memberships.controller.js';
import { Membership } from './membership.entity.js';
import { SignInMail } from './mails/sign-in-mail.entity.js';
import { SignInMailsService } from './mails/sign-in-mails.service.js';
import { Identity } from './oidc/identity.entity.js';
import { MembersOfProvidersService } from './oidc/members-of-providers.service.js';
import { OidcClientService } from './oidc/oidc-client.service.js';
import { OidcController, SignInProvidersController } from './oidc/oidc.controller.js';
import { OidcSignInsService } from './oidc/oidc-sign-ins.service.js';
import { SessionConfirmationsService } from './oidc/session-confirmations.service.js';
import { PasskeyChallengesService } from './passkeys/passkey-challenges.service.js';
import { PasskeySignInsService } from './passkeys/passkey-sign-ins.service.js';
import { Passkey } from './passkeys/passkey.entity.js';
import { PasskeysController, PasskeySignInsController } from './passkeys/passkeys.controller.js';
import { PasskeysService } from './passkeys/passkeys.service.js';
import { PasswordsService } from './passwords.service.js';
import { PeopleService } from './people.service.js';
import { Person } from './person.entity.js';
import { ProfilesService } from './profiles.service.js';
import { SessionCredentialsService } from './session-credentials.service.js';
import { Session } from './session.entity.js';
import { CurrentSessionController, SessionsController } from './sessions.controller.js';
import { SessionsService } from './sessions.service.js';
import { SignInLinksController } from './sign-in-links.controller.js';
import { SignInLink } from './sign-in-link.entity.js';
import { SignInLinksService } from './sign-in-links.service.js';
import { SignInWaysService } from './sign-in-ways.service.js';
import { SignInsService } from './sign-ins.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Identity, Passkey, Person, Membership, Session, SignInLink, SignInMail])],
  controllers: [
    SessionsController,
    CurrentSessionController,
    MembershipsController,
    MembersController,
    InvitationsController,
    InviteesController,
    SignInProvidersController,
    SignInLinksController,
    OidcController,
    PasskeysController,
    PasskeySignInsController,
  ],
  providers: [
    InvitationsService,
    InviteesService,
    MembersOfProvidersService,
    MembersService,
    OidcClientService,
    OidcSignInsService,
    PasskeyChallengesService,
    PasskeySignInsService,
    PasskeysService,
    PasswordsService,
    PeopleService,
    ProfilesService,
    SessionConfirmationsService,
    SessionCredentialsService,
    SessionsService,
    SignInLinksService,
    SignInMailsService,
    SignInWaysService,
    SignInsService,
  ],
  exports: [SessionCredentialsService, SignInLinksService, SignInMailsService],
})
export class PeopleModule {}
