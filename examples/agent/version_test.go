package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestVersion: the version that the build recorded, as a line and as JSON.
func TestVersion(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	assert.Equal(t, versionInfo{"v1.2.3", "abc", true, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, versionFromBuild(info))
	assert.Equal(t, "unknown", versionFromBuild(nil).Version)
	code, stdout, _ := called("version")
	assert.Equal(t, exitOK, code)
	assert.Regexp(t, `^podkeel agent .*, go1\.\d+.*, \w+/\w+\n$`, stdout)
	_, same, _ := called("--version")
	assert.Equal(t, stdout, same)
	code, stdout, _ = called("version", "-o=json")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stdout, `"goVersion": "go1.`)
}
