#!/bin/sh
# Gets Alloy from Maven Central, and compares it with its SHA-256. Does nothing
# if it is there already.
set -eu

version=6.2.0
sha256=6037cbeee0e8423c1c468447ed10f5fcf2f2743a2ffc39cb1c81f2905c0fdb9d

is_intact() {
  echo "$sha256  .alloy/alloy.jar" | sha256sum --check --status 2>/dev/null
}

is_intact && exit

mvn --quiet --batch-mode dependency:copy \
  -Dartifact="org.alloytools:org.alloytools.alloy.dist:$version" \
  -DoutputDirectory=.alloy -Dmdep.useBaseVersion=true
mv ".alloy/org.alloytools.alloy.dist-$version.jar" .alloy/alloy.jar

is_intact || {
  rm .alloy/alloy.jar
  echo "Alloy $version from Maven Central has another SHA-256" >&2
  exit 1
}
