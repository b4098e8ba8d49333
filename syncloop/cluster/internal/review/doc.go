// Package review authenticates and authorizes clients of a node's own API by asking the API server. It
// implements the Authenticator and the Authorizer of syncloop/server.
//
//	r, err := review.New(review.Config{Reviews: server.Reviews()})
//	...
//	handler, err := s.New(s.Config{..., Authenticator: r, Authorizer: r})
//
// # The contract
//
//   - A client certificate that Config.ClientCAs verifies authenticates its common name as the user. The
//     groups are the organizations and system:authenticated. This needs no call.
//   - The API server reviews a bearer token. The result is cached for 2 minutes, or for 10 seconds if the
//     token was refused with an error. The token itself is not stored.
//   - The API server reviews the rights of a user. An allowed action is cached for 5 minutes, a denied one
//     for 30 seconds.
//   - An error is not cached. The caller gets it after 5 attempts in about 4 seconds, or when its context is
//     done. Cached results stay valid while the API server does not answer.
//   - The cache has at most 4096 tokens and 8192 decisions.
package review
