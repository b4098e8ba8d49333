// Package restart is the restart policy of containers: whether one that has
// ended runs again, and whether all of its pod begin anew because of it. It is
// pure, and the one place for all who have to agree on it: who decides, who
// says how a pod is, and who checks what was said.
//
// Kept: PH-2. What a container says for itself goes before what its pod says:
// first its rules, then its policy. Rules count only with a policy, as the API
// wants it. An unset policy of a pod is Always, as the API defaults it.
package restart
