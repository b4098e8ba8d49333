// Package review decides who asks a node, and what that user may do, by asking the API server: it
// fills the Authenticator and the Authorizer of syncloop/server.
//
//	r, err := review.New(review.Config{Reviews: server.Reviews()})
//	...
//	handler, err := s.New(s.Config{..., Authenticator: r, Authorizer: r})
//
// # The contract
//
//   - A client certificate that Config.ClientCAs verifies is its user: the common name is the
//     name, the organizations and system:authenticated are the groups. No call is needed for it.
//   - A bearer token is reviewed by the API server. Its answer, yes or no, is used for 2
//     minutes, or for 10 seconds if it is no and names an error. The token itself is not kept.
//   - What a user may do is reviewed by the API server. Yes is used for 5 minutes and no for
//     30 seconds.
//   - An error is no answer, and is not kept: the caller gets it after 5 attempts, in about 4
//     seconds, or at the end of its context. What is kept is used as long as it may, also
//     while the API server does not answer.
//   - At most 4096 tokens and 8192 decisions are kept.
package review
