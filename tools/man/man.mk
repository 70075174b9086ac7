# man.mk - the manual pages, into build/man: `make man`. Included by the Makefile.
MAN_PAGES = $(patsubst tools/man/%.in,build/man/%,$(wildcard tools/man/*.in))

.PHONY: man
man: $(MAN_PAGES) ## the manual pages, into build/man (man -l build/man/snapsim.1)

build/man/%: tools/man/%.in tools/man/make.sh $(PROGRAM)
	@mkdir -p $(@D)
	@tools/man/make.sh $(PROGRAM) $< >$@.new && mv $@.new $@
