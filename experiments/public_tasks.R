# Public multi-task data from an R package of Debian, as tables for coterie:
#
#   apt-get install r-cran-mlmrev
#   Rscript experiments/public_tasks.R FOLDER        then: COTERIE_DATA=FOLDER coterie experiment experiments/public_tasks.toml -o ...
#
# contraception: women of the Bangladesh fertility survey of 1988, a task per district; does she use contraception? (districts with 8 women
# of either answer or more). chemistry: pupils of England's A-level chemistry of 1997, a task per education authority; is the score in the
# upper half? (at most 120 pupils of each, the first of the table).
suppressMessages(library(mlmRev))
folder <- commandArgs(trailingOnly = TRUE)[1]

keep <- function(data, least) {
  counts <- table(data$task, data$label)
  data[data$task %in% rownames(counts)[apply(counts, 1, min) >= least], ]
}

write <- function(data, name) {
  dir.create(file.path(folder, name), showWarnings = FALSE, recursive = TRUE)
  write.csv(data, file.path(folder, name, "data.csv"), row.names = FALSE, quote = FALSE)
  cat(sprintf("%s: %d rows, %d tasks\n", name, nrow(data), length(unique(data$task))))
}

women <- Contraception
write(keep(data.frame(task = paste0("d", women$district), label = ifelse(women$use == "Y", "yes", "no"), age = women$age, age2 = women$age^2 / 10,
                      urban = as.integer(women$urban == "Y"), child1 = as.integer(women$livch == "1"), child2 = as.integer(women$livch == "2"),
                      child3 = as.integer(women$livch == "3+")), 8), "contraception")

pupils <- Chem97
first <- ave(seq_len(nrow(pupils)), pupils$lea, FUN = seq_along) <= 120
pupils <- pupils[first, ]
write(keep(data.frame(task = paste0("a", pupils$lea), label = ifelse(pupils$score > 6, "upper", "lower"), gcse = pupils$gcsescore,
                      age = pupils$age, male = as.integer(pupils$gender == "M")), 8), "chemistry")
